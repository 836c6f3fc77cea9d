if (!process.env.DATABASE_URL) process.exitCode = 1;

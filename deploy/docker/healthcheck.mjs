// The health check of the image: asks the service's admin port whether it is alive.
const port = process.env.ANGELIA_ADMIN_PORT ?? '9464';
const answer = await fetch(`http://127.0.0.1:${port}/healthz`).catch(() => undefined);
process.exit(answer?.ok ? 0 : 1);

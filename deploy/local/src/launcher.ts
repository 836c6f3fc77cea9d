import { runStart } from './commands/start.ts';

// `npm start` replaces itself by this program once everything is built (cli.ts), and says when it began.
process.exit(await runStart({ startedAt: Number(process.argv[2]) }));

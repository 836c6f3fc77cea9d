import { migrate, raiseEpoch } from '../migrate.ts';
import { runCommand } from './command-line.ts';

/** `migrate` brings the schema up to date; `migrate --raise-epoch` after a restore into another cluster. */
await runCommand('migrate', async (url) => {
  if (process.argv.includes('--raise-epoch')) {
    const { epoch, warnings } = await raiseEpoch({ url });
    return [...warnings.map((text) => `warning: ${text}`), `the log's epoch is now ${epoch}`];
  }
  const { applied, warnings } = await migrate({ url });
  const done = applied.length === 0 ? 'the schema is up to date' : `applied ${applied.join(', ')}`;
  return [...warnings.map((text) => `warning: ${text}`), done];
});

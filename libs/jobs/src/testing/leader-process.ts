import { openEventLog } from '@angelia/event-log';
import { KeyedSessions, Sessions } from '@angelia/sessions';
import { WakeUp } from '@angelia/waiting';
import { runJobs } from '../run-jobs.ts';

// A leader of jobs as its own process, so that tests can kill it.
const [url = '', itemsPerSecond = '100'] = process.argv.slice(2);
const log = openEventLog({ url, instance: 'leader', holder: `leader#${process.pid}` });
const sessions = new Sessions({ log, instance: 'leader' });
console.log('leading');
await runJobs({
  log,
  sessions,
  keyed: new KeyedSessions({ log, sessions, instance: 'leader' }),
  bus: { ping: () => {}, publishHints: async () => {} },
  signal: new AbortController().signal,
  wake: new WakeUp(),
  itemsPerSecond: Number(itemsPerSecond),
});

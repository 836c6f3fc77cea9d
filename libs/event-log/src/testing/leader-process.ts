import { WakeUp } from '@angelia/waiting';
import { openEventLog } from '../event-log.ts';
import { lead } from '../leading/lead.ts';
import { runRelay } from '../relay/relay.ts';
import { runProjection } from '../views/projection.ts';
import { countingProjection } from './counting-projection.ts';

// One candidate to lead, as its own process, so that tests can kill and freeze it. Reports on stdout what it does.
const [url = '', holder = '', seconds = '2'] = process.argv.slice(2);
const log = openEventLog({ url, instance: holder.replace(/#.*/, ''), holder });
const leading = lead({
  log,
  name: 'test',
  holder,
  seconds: Number(seconds),
  onLead: async (epoch, signal) => {
    console.log(`leading ${epoch}`);
    const publish = async () => ({ streamWasRecreated: false });
    await Promise.all([
      runProjection({ log, leadEpoch: epoch, signal, wake: new WakeUp(), project: countingProjection }),
      runRelay({ log, leadEpoch: epoch, signal, wake: new WakeUp(), publish }),
    ]);
    console.log(`ended ${epoch}`);
  },
});
process.on('SIGTERM', () => {
  void leading
    .stop()
    .then(() => log.close())
    .then(() => process.exit(0));
});

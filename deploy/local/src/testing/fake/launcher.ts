import { runStart } from '../../commands/start.ts';
import { fakeScripts } from './scripts.ts';

const preparedCluster = process.env.FAKE_CLUSTER || undefined;

process.exit(await runStart({ scripts: fakeScripts, preparedCluster }));

import { runStart } from '../../src/start.ts';
import { fakeScripts } from './scripts.ts';

process.exit(await runStart({ scripts: fakeScripts }));

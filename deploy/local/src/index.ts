export { identityOf } from '../bootstrap/process-identity.mjs';
export { bannerOf } from './commands/start.ts';
export { type Chromium, findChromium } from './servers/chromium.ts';
export { findBubblewrap, findKubectl, findNatsServer } from './servers/packaged-programs.ts';
export { startPostgres } from './servers/postgres.ts';
export { startTestServices, TEST_STACKS } from './servers/test-services.ts';
export { SERVICES } from './stack/replicas.ts';
export { type Stack, type StackOptions, startStack } from './stack/stack.ts';

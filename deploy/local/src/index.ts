export { runStart } from './commands/start.ts';
export { LaunchError, type LaunchErrorCode } from './launch-error.ts';
export { startNats } from './servers/nats.ts';
export { findBubblewrap, findKubectl, findNatsServer } from './servers/packaged-programs.ts';
export { startPostgres } from './servers/postgres.ts';
export { startTestServices, sweepTestServices, type TestServices } from './servers/test-services.ts';
export { SERVICES, type ServiceName } from './stack/replicas.ts';
export type { Scripts } from './stack/services.ts';
export { type Servers, type Stack, type StackOptions, startStack } from './stack/stack.ts';

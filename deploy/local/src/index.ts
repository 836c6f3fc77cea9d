export { LaunchError, type LaunchErrorCode } from './launch-error.ts';
export { startNats } from './nats.ts';
export { findBubblewrap, findKubectl, findNatsServer } from './packaged-programs.ts';
export { startPostgres } from './postgres.ts';
export { SERVICES, type ServiceName } from './replicas.ts';
export type { Scripts } from './services.ts';
export { type Servers, type Stack, type StackOptions, startStack } from './stack.ts';
export { runStart } from './start.ts';
export { startTestServices, sweepTestServices, type TestServices } from './test-services.ts';

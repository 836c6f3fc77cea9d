export const DISPATCHER = Symbol('DISPATCHER');
export const TARGETS = Symbol('TARGETS');

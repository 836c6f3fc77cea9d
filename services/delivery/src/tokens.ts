export const DISPATCHER = Symbol('DISPATCHER');

export const DELIVERIES = Symbol('DELIVERIES');
export const TARGETS = Symbol('TARGETS');

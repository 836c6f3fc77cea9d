export { abortable } from './abortable.ts';
export { type CircuitLimits, Circuits, circuitLimits, type Verdict } from './circuits.ts';
export { LONGEST_TIMER_MS, pause } from './pause.ts';
export { parseRetryAfter } from './retry-after.ts';
export { onTicks, untilTick } from './ticks.ts';
export { WakeUp } from './wake-up.ts';
export { LATE, within } from './within.ts';

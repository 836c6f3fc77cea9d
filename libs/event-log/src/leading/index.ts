export { runRelay } from '../relay/relay.ts';
export { runProjection } from '../views/projection.ts';
export { Agenda, runAgenda } from './agenda.ts';
export { type ConnectionNote, type Leading, lead, noteLead } from './lead.ts';
export { type LedLoop, ledLoops } from './led-loops.ts';
export { type HintOwner, hintAllUnsettled } from './rehint.ts';

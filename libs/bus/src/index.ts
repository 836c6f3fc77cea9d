export { connectBus } from './bus.ts';
export { BusUrlInvalid } from './errors.ts';
export { type ExaminedBus, type ExaminedJetStream, examineBus } from './examine/examine.ts';
export type {
  Bus,
  Consumption,
  DeadLetter,
  HintVerdict,
} from './types.ts';

export { connectBus } from './bus.ts';
export { BusUnavailable, BusUnusable, isBusError } from './errors.ts';
export { type ExaminedBus, type ExaminedJetStream, examineBus } from './examine.ts';
export { BusUrlInvalid } from './server-url.ts';
export type {
  Bus,
  BusLogger,
  BusOptions,
  BusStatus,
  ConsumeOptions,
  ConsumerLag,
  Consumption,
  DeadLetter,
  HintVerdict,
  OutgoingHint,
} from './types.ts';

export { connectBus } from './bus.ts';
export { BusUrlInvalid } from './connect/server-url.ts';
export { BusUnavailable, BusUnusable, isBusError } from './errors.ts';
export { type ExaminedBus, type ExaminedJetStream, examineBus } from './examine/examine.ts';
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

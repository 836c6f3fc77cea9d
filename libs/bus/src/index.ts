export { connectBus } from './bus.ts';
export { BusUnavailable, BusUnusable, BusUrlInvalid, isBusError } from './errors.ts';
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

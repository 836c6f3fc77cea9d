import type { JobAction } from '@angelia/contracts';
import type { Action } from './action.ts';
import { cancel } from './cancel.ts';
import { erase } from './erase.ts';
import { replayDeadLetters } from './replay-dead-letters.ts';
import { resume } from './resume.ts';
import { retryDeliveries } from './retry-deliveries.ts';

export const actions: Readonly<Record<JobAction, Action>> = {
  resume,
  cancel,
  'retry-deliveries': retryDeliveries,
  'replay-dead-letters': replayDeadLetters,
  erase,
};

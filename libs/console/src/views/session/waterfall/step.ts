import type { Tone } from '../../../parts/feedback/badge.tsx';

export type StepKind =
  | 'queue'
  | 'run'
  | 'model'
  | 'tool'
  | 'status'
  | 'person'
  | 'outage'
  | 'process'
  | 'delivery'
  | 'attempt';

/** One bar of the waterfall: something with a beginning and an end. */
export interface Step {
  /** Stable while the session goes on: the kind, and the version of the event that began it. */
  readonly id: string;
  readonly kind: StepKind;
  readonly label: string;
  /** In a few words: tokens, a reason. */
  readonly note: string;
  /** 0, or 1 for a part of the step above it. */
  readonly depth: number;
  readonly from: number;
  /** Null: under way. Equal to `from`: a moment. */
  readonly until: number | null;
  readonly tone: Tone;
  /** What became of it, in a word. */
  readonly state: string;
  /** The versions of the events that it is made of. */
  readonly versions: readonly number[];
}

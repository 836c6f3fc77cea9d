import { cancelSession, eraseSession, resumeSession } from '../../../api/calls/session-calls.ts';
import type { SessionRow } from '../list/session-rows.ts';

export type BulkAction = 'resume' | 'cancel' | 'erase';

interface Described {
  readonly verb: string;
  /** What happens, before it happens. */
  readonly effect: string;
  readonly danger: boolean;
  readonly fits: (row: SessionRow) => boolean;
  readonly misfit: string;
  readonly run: (id: string) => Promise<unknown>;
}

export const BULK_ACTIONS: Readonly<Record<BulkAction, Described>> = {
  resume: {
    verb: 'Retry',
    effect:
      'Each one continues in a continuation with the conversation so far. The sessions themselves stay as they are.',
    danger: false,
    fits: ({ status }) => status === 'ended',
    misfit: 'have not ended',
    run: (id) => resumeSession(id),
  },
  cancel: {
    verb: 'Cancel',
    effect: 'Model calls and tools stop, and the sessions end as cancelled.',
    danger: true,
    fits: ({ status }) => status !== 'ended',
    misfit: 'have ended already',
    run: (id) => cancelSession(id),
  },
  erase: {
    verb: 'Erase',
    effect: 'Every event and row of them is deleted. Nothing can bring them back.',
    danger: true,
    fits: ({ status }) => status === 'ended',
    misfit: 'have not ended',
    run: (id) => eraseSession(id),
  },
};

export interface Progress {
  readonly done: readonly string[];
  readonly failures: readonly { readonly id: string; readonly reason: string }[];
}

/** As many calls at once: enough to be quick, few enough that others are not held up. */
const AT_ONCE = 4;

/** Does it with one after the other, and tells how far it is. It stops when `signal` says so; what is done stays done. */
export async function runEach(
  ids: readonly string[],
  run: (id: string) => Promise<unknown>,
  onProgress: (progress: Progress) => void,
  signal: AbortSignal,
): Promise<Progress> {
  let progress: Progress = { done: [], failures: [] };
  const queue = [...ids];
  const worker = async () => {
    for (let id = queue.shift(); id !== undefined && !signal.aborted; id = queue.shift()) {
      const reason = await run(id).then(
        () => null,
        (error: unknown) => (error instanceof Error ? error.message : String(error)),
      );
      progress =
        reason === null
          ? { ...progress, done: [...progress.done, id] }
          : { ...progress, failures: [...progress.failures, { id, reason }] };
      onProgress(progress);
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, worker));
  return progress;
}

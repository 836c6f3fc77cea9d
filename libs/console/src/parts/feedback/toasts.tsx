import { type ReactNode, useSyncExternalStore } from 'react';
import { messageOf } from '../../api/api-error.ts';
import { Icon } from '../controls/icon.tsx';

interface Toast {
  readonly id: number;
  readonly kind: 'done' | 'failed';
  readonly text: ReactNode;
}

/** Long enough to read two lines. A failure stays until somebody closes it. */
const SHOWN_MS = 6_000;
const MOST = 4;

let toasts: readonly Toast[] = [];
let lastId = 0;
const listeners = new Set<() => void>();

function set(next: readonly Toast[]): void {
  toasts = next;
  for (const listener of listeners) listener();
}

const close = (id: number): void => set(toasts.filter((toast) => toast.id !== id));

/** Says that something was done. */
export function tell(text: ReactNode): void {
  lastId += 1;
  const id = lastId;
  set([...toasts, { id, kind: 'done' as const, text }].slice(-MOST));
  setTimeout(() => close(id), SHOWN_MS);
}

/** Says that something failed, in the gateway's words. */
export function tellFailure(error: unknown): void {
  lastId += 1;
  set([...toasts, { id: lastId, kind: 'failed' as const, text: messageOf(error) }].slice(-MOST));
}

/** After sign-out: the next person must not read messages for the one before. */
export function closeAll(): void {
  set([]);
}

export function Toasts() {
  const shown = useSyncExternalStore(
    (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    () => toasts,
  );
  return (
    <section className="toasts" aria-label="Notices" aria-live="polite" aria-relevant="additions">
      {shown.map(({ id, kind, text }) => (
        <div key={id} className={`toast toast-${kind}`} role={kind === 'failed' ? 'alert' : undefined}>
          <Icon name={kind === 'failed' ? 'warning' : 'done'} />
          <div className="untrusted">{text}</div>
          <button
            type="button"
            className="icon-button"
            aria-label="Close this notice"
            onClick={() => close(id)}
          >
            <Icon name="close" />
          </button>
        </div>
      ))}
    </section>
  );
}

import type { ReactNode } from 'react';

export type Tone = 'ok' | 'busy' | 'wait' | 'bad' | 'calm';

/** A state in one word. The shape before it differs by tone, so that it does not depend on colour. */
export function Badge({ tone, children }: { readonly tone: Tone; readonly children: ReactNode }) {
  return (
    <span className={`badge tone-${tone}`}>
      <Dot tone={tone} />
      {children}
    </span>
  );
}

const SHAPES: Record<Tone, string> = {
  ok: 'M2 5.5l2 2 4-5',
  busy: 'M5 1.5a3.5 3.5 0 1 1-3.5 3.5',
  wait: 'M3.5 2v6M6.5 2v6',
  bad: 'M2.5 2.5l5 5M7.5 2.5l-5 5',
  calm: 'M2.5 5h5',
};

export function Dot({ tone }: { readonly tone: Tone }) {
  return (
    <svg className={`dot dot-${tone}`} viewBox="0 0 10 10" width="10" height="10" aria-hidden="true">
      <path d={SHAPES[tone]} />
    </svg>
  );
}

import type { ComponentProps } from 'react';

interface Props extends Omit<ComponentProps<'button'>, 'type'> {
  readonly kind?: 'plain' | 'main' | 'danger' | 'quiet';
  readonly submits?: boolean;
  /** Work is under way: it cannot be pressed again. */
  readonly busy?: boolean;
}

export function Button({ kind = 'plain', submits = false, busy = false, className = '', ...rest }: Props) {
  return (
    <button
      {...rest}
      type={submits ? 'submit' : 'button'}
      className={`button button-${kind} ${className}`}
      aria-busy={busy || undefined}
      disabled={rest.disabled || busy}
    />
  );
}

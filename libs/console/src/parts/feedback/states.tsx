import type { ReactNode } from 'react';
import { ApiError, messageOf } from '../../api/api-error.ts';
import { Button } from '../controls/button.tsx';
import { CopyButton } from '../controls/copy-button.tsx';
import { Icon } from '../controls/icon.tsx';
import { ScrollBox } from '../text/scroll-box.tsx';

/** While the first answer is awaited. It appears after a moment, so that a quick answer does not flash. */
export function Loading({ what }: { readonly what: string }) {
  return (
    <div className="state state-loading" role="status">
      <span className="spinner" aria-hidden="true" />
      <span>Loading {what}…</span>
    </div>
  );
}

/** What went wrong in the gateway's own words, and a way to try again. */
export function Failed(props: {
  readonly error: unknown;
  readonly retry?: () => void;
  /** The caller retries as long as a retry can help. */
  readonly triesAgain?: boolean;
}) {
  const { error, retry, triesAgain = false } = props;
  return (
    <div className="state state-failed" role="alert">
      <Icon name="warning" />
      <div>
        <p>{messageOf(error)}</p>
        {triesAgain && error instanceof ApiError && error.passes && (
          <p className="muted">The page keeps trying.</p>
        )}
      </div>
      {retry !== undefined && <Button onClick={retry}>Try again</Button>}
    </div>
  );
}

/** Nothing is there. It says what to do next, with a command to copy where there is one. */
export function Empty(props: {
  readonly title: string;
  readonly children?: ReactNode;
  readonly command?: string;
}) {
  return (
    <div className="state state-empty">
      <h2>{props.title}</h2>
      {props.children !== undefined && <div className="muted">{props.children}</div>}
      {props.command !== undefined && <Command text={props.command} />}
    </div>
  );
}

/** A command to run elsewhere. */
export function Command({ text }: { readonly text: string }) {
  return (
    <div className="command">
      <ScrollBox label="Command">{text}</ScrollBox>
      <CopyButton text={text} of="the command" />
    </div>
  );
}

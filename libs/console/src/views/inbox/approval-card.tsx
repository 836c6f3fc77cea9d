import { Link } from '@tanstack/react-router';
import { type FormEvent, useEffect, useId, useRef, useState } from 'react';
import { ApiError } from '../../api/api-error.ts';
import { type Decision, decideApproval, type OpenApproval } from '../../api/calls/approval-calls.ts';
import { useSendKey } from '../../api/use-send-key.ts';
import { Button } from '../../parts/controls/button.tsx';
import { CopyButton } from '../../parts/controls/copy-button.tsx';
import { Failed } from '../../parts/feedback/states.tsx';
import { tell } from '../../parts/feedback/toasts.tsx';
import { Untrusted } from '../../parts/text/text.tsx';
import { Countdown, Time } from '../../parts/time/time.tsx';
import { ExactArguments, isLong } from './exact-arguments.tsx';

/** What the gateway takes. */
const LONGEST_REASON = 2_000;

interface Props {
  readonly approval: OpenApproval;
  /** The address names this one. */
  readonly meant: boolean;
  /** It was closed while it is looked at: by whom, or why. */
  readonly closed: string | null;
  /** Whether this tab is sending the decision, so that it is not announced as somebody else's. */
  readonly onDeciding: (isDeciding: boolean) => void;
  readonly onDecided: () => void;
  /** The gateway says that it is closed. */
  readonly onClosed: (what: string) => void;
  readonly onHide: () => void;
}

/** One tool call that waits for an approval, decided in place. */
export function ApprovalCard({ approval, meant, closed, ...props }: Props) {
  const [reason, setReason] = useState('');
  const [seen, setSeen] = useState(() => !isLong(approval.shown));
  const [sending, setSending] = useState<string | null>(null);
  const [error, setError] = useState<unknown>(null);
  const keyOf = useSendKey();
  const card = useRef<HTMLLIElement>(null);
  const id = useId();
  useEffect(() => {
    if (meant) card.current?.scrollIntoView({ block: 'center' });
  }, [meant]);

  const decide = async (name: string, given: Omit<Decision, 'reason'>) => {
    const decision = { ...given, ...(reason.trim() === '' ? {} : { reason }) };
    setSending(name);
    setError(null);
    props.onDeciding(true);
    try {
      await decideApproval(approval, decision, keyOf(JSON.stringify(decision)));
      tell(given.decision === 'approve' ? 'Approved. The call runs.' : 'Denied. The agent reads why.');
      props.onDecided();
    } catch (refused) {
      props.onDeciding(false);
      setSending(null);
      if (refused instanceof ApiError && refused.status === 409) props.onClosed(refused.message);
      else setError(refused);
    }
  };
  const deny = (event: FormEvent) => {
    event.preventDefault();
    void decide('deny', { decision: 'deny', scope: 'once' });
  };
  const button = (name: string) => ({ busy: sending === name, disabled: sending !== null });
  const rule = approval.rule.match === null ? null : <code>{approval.rule.match}</code>;
  return (
    <li
      ref={card}
      className={`panel question approval ${meant ? 'question-meant' : ''}`}
      data-row={approval.id}
      aria-labelledby={`${id}-title`}
    >
      <header className="question-head">
        <h2>
          <Link to="/sessions/$id" params={{ id: approval.session_id }} id={`${id}-title`} data-row-focus>
            <Untrusted text={approval.title === '' ? 'Without a title' : approval.title} />
          </Link>
        </h2>
        <span className="tag">{approval.route}</span>
        <span className="muted">
          asked <Time at={approval.asked_at} />
        </span>
        <span className="end">
          <CopyButton
            text={`${location.origin}/console/inbox?approval=${encodeURIComponent(approval.id)}`}
            of="the address of this request"
          />
        </span>
      </header>
      <p>
        Agent <strong>{approval.agent}</strong> wants to run{' '}
        <code>
          <Untrusted text={approval.tool} />
        </code>
        :
      </p>
      <ExactArguments shown={approval.shown} whole={seen} onWhole={() => setSeen(true)} />
      <p className="muted">
        Asked by the rule for <code>{approval.rule.tool}</code>
        {rule !== null && <> that matches {rule}</>}
        {'. '}
        An approval for the session is for every call of this tool that it asks about
        {rule !== null && approval.shown.command !== null && <> and that appends no other command</>}.{' '}
        {approval.approvers.length > 0 && (
          <>
            May decide besides the console: <Untrusted text={approval.approvers.join(', ')} />.
          </>
        )}
      </p>
      {closed !== null ? (
        <div className="question-foot">
          <p role="status">
            <strong>
              <Untrusted text={closed} />
            </strong>
          </p>
          <Button onClick={props.onHide}>Hide</Button>
        </div>
      ) : (
        // Enter in the field denies, so that nothing runs by accident.
        <form className="question-answer" onSubmit={deny} aria-labelledby={`${id}-title`}>
          <label htmlFor={`${id}-reason`}>Reason, which the agent reads if you deny it</label>
          <input
            id={`${id}-reason`}
            className="field"
            maxLength={LONGEST_REASON}
            value={reason}
            disabled={sending !== null}
            onChange={(event) => setReason(event.target.value)}
          />
          {!seen && <p role="note">Show all of the arguments before you approve them.</p>}
          <div className="question-foot">
            <Button
              kind="main"
              {...button('once')}
              disabled={!seen || sending !== null}
              onClick={() => void decide('once', { decision: 'approve', scope: 'once' })}
            >
              Approve once
            </Button>
            <Button
              {...button('session')}
              disabled={!seen || sending !== null}
              onClick={() => void decide('session', { decision: 'approve', scope: 'session' })}
            >
              Approve for the session
            </Button>
            <Button kind="danger" submits {...button('deny')}>
              Deny
            </Button>
            <span className="muted">
              Denied by itself <Countdown until={Date.parse(approval.expires_at)} />
            </span>
          </div>
          {error !== null && <Failed error={error} />}
        </form>
      )}
    </li>
  );
}

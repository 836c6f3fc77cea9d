import { useQueryClient } from '@tanstack/react-query';
import { useRef, useState } from 'react';
import { retryDelivery, type Session } from '../../../api/calls/session-calls.ts';
import type { Schema } from '../../../api/client.ts';
import { useRowKeys } from '../../../app/keyboard/use-row-keys.ts';
import { Button } from '../../../parts/controls/button.tsx';
import { Badge } from '../../../parts/feedback/badge.tsx';
import { Empty, Failed, Loading } from '../../../parts/feedback/states.tsx';
import { tell, tellFailure } from '../../../parts/feedback/toasts.tsx';
import { Markdown } from '../../../parts/markdown/markdown.tsx';
import { LongText, Untrusted } from '../../../parts/text/text.tsx';
import { Time } from '../../../parts/time/time.tsx';
import { DELIVERY_STATES } from '../../deliveries/delivery-state.ts';
import { EventData, type SessionEvent } from '../session-event.ts';
import { sessionKey, useDeliveries, useEvents } from '../use-session.ts';

const KINDS: Readonly<Record<string, string>> = {
  'session.interim-status': 'Status',
  'clarification.requested': 'Question',
  'approval.requested': 'Request for approval',
  'session.final-response': 'Answer',
};

/** What the session said, and what became of each delivery. */
export function DeliveriesTab({ session }: { readonly session: Session }) {
  const events = useEvents(session.id);
  const deliveries = useDeliveries(session.id);
  const list = useRef<HTMLOListElement>(null);
  useRowKeys(list);
  const error = events.error ?? deliveries.error;
  if (events.data === undefined || deliveries.data === undefined)
    return error === null ? (
      <Loading what="the outputs" />
    ) : (
      <Failed error={error} retry={() => void Promise.all([events.refetch(), deliveries.refetch()])} />
    );
  const outputs = events.data.filter(({ type }) => type in KINDS);
  if (outputs.length === 0)
    return <Empty title="Nothing was said yet">Statuses, questions and the answer appear here.</Empty>;
  const byOutput = new Map(deliveries.data.map((delivery) => [delivery.output, delivery]));
  return (
    <ol ref={list} className="outputs">
      {outputs.map((output) => (
        <li key={output.version} className="panel" data-row={output.version} data-row-focus tabIndex={-1}>
          <Output output={output} delivery={byOutput.get(output.version)} sessionId={session.id} />
        </li>
      ))}
    </ol>
  );
}

function Output(props: {
  readonly output: SessionEvent;
  readonly delivery: Schema['Delivery'] | undefined;
  readonly sessionId: string;
}) {
  const { output, delivery, sessionId } = props;
  const data = new EventData(output);
  const text = data.text('text') ?? data.text('question') ?? '';
  return (
    <article>
      <header className="output-header">
        <h2>{KINDS[output.type]}</h2>
        <span className="muted">
          <Time at={output.recorded_at} />
        </span>
        {delivery === undefined ? (
          <span className="muted">not delivered</span>
        ) : (
          <>
            <Badge tone={DELIVERY_STATES[delivery.status].tone}>
              {DELIVERY_STATES[delivery.status].name}
            </Badge>
            <span className="tag">{delivery.target}</span>
            {delivery.via === 'fallback_target' && <span className="tag">fallback</span>}
            {delivery.possible_duplicate && <span className="tag">possible duplicate</span>}
          </>
        )}
        {delivery?.status === 'dead' && <RetryButton id={delivery.id} sessionId={sessionId} />}
      </header>
      {delivery !== undefined && (
        <p className="muted">
          {delivery.attempts} {delivery.attempts === 1 ? 'attempt' : 'attempts'}
          {delivery.next_attempt_at !== null && (
            <>
              , next <Time at={delivery.next_attempt_at} />
            </>
          )}
          {delivery.receipt !== null && (
            <>
              , receipt <Untrusted text={delivery.receipt} className="mono" />
            </>
          )}
        </p>
      )}
      {delivery?.reason != null && (
        <p className="reason">
          <Untrusted text={delivery.reason} />
        </p>
      )}
      {output.type === 'approval.requested' ? (
        <LongText
          text={`${data.text('tool') ?? 'tool'} ${data.text('arguments') ?? ''}`}
          label="Request for approval"
        />
      ) : text === '' ? (
        <p className="muted">Empty</p>
      ) : (
        <Markdown text={text} label={KINDS[output.type] ?? 'Output'} />
      )}
    </article>
  );
}

function RetryButton({ id, sessionId }: { readonly id: string; readonly sessionId: string }) {
  const [busy, setBusy] = useState(false);
  const queries = useQueryClient();
  const retry = async () => {
    setBusy(true);
    try {
      await retryDelivery(id);
      tell('The delivery is pending again.');
      await queries.invalidateQueries({ queryKey: sessionKey(sessionId) });
    } catch (error) {
      tellFailure(error);
    } finally {
      setBusy(false);
    }
  };
  return (
    <Button busy={busy} onClick={() => void retry()}>
      Send again
    </Button>
  );
}

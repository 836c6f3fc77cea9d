import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import { type Headers, type TestWebhook, testRoute } from '../../../api/calls/route-calls.ts';
import { newKey } from '../../../api/calls/session-calls.ts';
import { Button } from '../../../parts/controls/button.tsx';
import { Badge, type Tone } from '../../../parts/feedback/badge.tsx';
import { Failed } from '../../../parts/feedback/states.tsx';
import { Untrusted } from '../../../parts/text/text.tsx';

interface Props {
  readonly name: string | null;
  readonly payload: { readonly value: unknown } | null;
  readonly headers: Headers;
  /** Why nothing can be sent; null: it can. */
  readonly blocked: string | null;
}

const TONES: Readonly<Record<TestWebhook['status'], Tone>> = {
  accepted: 'ok',
  coalesced: 'ok',
  duplicate: 'calm',
  ignored: 'calm',
  handshake: 'ok',
  refused: 'bad',
};

/** Sends the route a webhook without a signature. What comes of it is real: the agent works, and its answer is delivered. */
export function TestSender({ name, payload, headers, blocked }: Props) {
  const [fresh, setFresh] = useState(true);
  const [sending, setSending] = useState(false);
  const [result, setResult] = useState<TestWebhook | null>(null);
  const [error, setError] = useState<unknown>(null);
  const send = async () => {
    if (name === null || payload === null) return;
    setSending(true);
    setError(null);
    try {
      setResult(
        await testRoute(name, payload.value, fresh ? { ...headers, 'idempotency-key': newKey() } : headers),
      );
    } catch (refused) {
      setResult(null);
      setError(refused);
    } finally {
      setSending(false);
    }
  };
  return (
    <section className="stack" aria-label="Send a test">
      <h2>Send it as a test</h2>
      <p className="muted">The agent works, and its answer is delivered as for any other webhook.</p>
      <label className="check">
        <input type="checkbox" checked={fresh} onChange={(event) => setFresh(event.target.checked)} />
        With a new delivery id, so that it is no duplicate
      </label>
      <div className="list-actions">
        <Button
          kind="main"
          busy={sending}
          disabled={blocked !== null || payload === null}
          onClick={() => void send()}
        >
          Send the test webhook
        </Button>
        {blocked !== null && <span className="muted">{blocked}</span>}
      </div>
      <div role="status">
        {result !== null && (
          <div className="row-head">
            <Badge tone={TONES[result.status]}>{result.status}</Badge>
            <span>a sender is answered {result.http_status}</span>
            {result.session_id !== null && (
              <Link to="/sessions/$id" params={{ id: result.session_id }}>
                Open the session
              </Link>
            )}
            {(result.detail ?? result.reason) !== null && (
              <Untrusted text={result.detail ?? result.reason ?? ''} />
            )}
          </div>
        )}
      </div>
      {error !== null && <Failed error={error} />}
    </section>
  );
}

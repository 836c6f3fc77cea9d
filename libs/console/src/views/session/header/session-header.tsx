import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import type { Session } from '../../../api/calls/session-calls.ts';
import { api, ask } from '../../../api/client.ts';
import { CopyButton } from '../../../parts/controls/copy-button.tsx';
import { Icon } from '../../../parts/controls/icon.tsx';
import { ForeignLink } from '../../../parts/markdown/markdown.tsx';
import { safeHref } from '../../../parts/markdown/safe-markdown.ts';
import { SessionBadge } from '../../../parts/session/session-badge.tsx';
import { Untrusted } from '../../../parts/text/text.tsx';
import { countText } from '../../../parts/text/visible-text.ts';
import { Countdown, Time, Took } from '../../../parts/time/time.tsx';
import { useEvents } from '../use-session.ts';
import { SessionActions } from './session-actions.tsx';

export function SessionHeader({ session }: { readonly session: Session }) {
  return (
    <header className="session-header">
      <nav aria-label="Where this is">
        <Link to="/sessions">Sessions</Link>
      </nav>
      <div className="session-title">
        <h1>
          <Untrusted text={session.title === '' ? 'Without a title' : session.title} />
        </h1>
        <SessionBadge session={session} />
        {session.answer_cut === true && <span className="tag">answer cut at the model's limit</span>}
      </div>
      <p className="session-id mono">
        {session.id}
        <CopyButton text={session.id} of="the session's id" />
      </p>
      <Reason session={session} />
      <dl className="session-facts">
        <div>
          <dt>Route</dt>
          <dd>
            <Link to="/sessions" search={{ route: session.route }}>
              {session.route}
            </Link>
            {session.event !== null && (
              <span className="muted">
                {' '}
                · <Untrusted text={session.event} />
              </span>
            )}
          </dd>
        </div>
        <div>
          <dt>Agent</dt>
          <dd>
            {session.agent}
            {session.model !== null && <span className="muted"> · {session.model}</span>}
          </dd>
        </div>
        <div>
          <dt>Tokens</dt>
          <dd>
            {countText(session.usage.input_tokens)} in, {countText(session.usage.output_tokens)} out
          </dd>
        </div>
        <div>
          <dt>Delivers to</dt>
          <dd>
            <DeliversTo session={session} />
          </dd>
        </div>
        <div>
          <dt>Started</dt>
          <dd>
            <Time at={session.created_at} />
          </dd>
        </div>
        <div>
          <dt>{session.status === 'ended' ? 'Took' : 'So far'}</dt>
          <dd>
            <Took
              from={Date.parse(session.created_at)}
              until={session.ended_at === null ? null : Date.parse(session.ended_at)}
            />
          </dd>
        </div>
        <TraceFact session={session} />
      </dl>
      <SessionActions session={session} />
    </header>
  );
}

/** Why it waits, failed or ended as it did. */
function Reason({ session }: { readonly session: Session }) {
  const { failure, waiting_for, retry_at, clarification, approval, deliveries } = session;
  return (
    <>
      {failure !== null && (
        <p className="reason" role="note">
          <code>{failure.code}</code> <Untrusted text={failure.message} />
        </p>
      )}
      {waiting_for === 'model' && retry_at !== null && (
        <p className="muted">
          It tries again <Time at={retry_at} />.
        </p>
      )}
      {clarification !== undefined && (
        <p className="muted">
          The answer is expected <Time at={clarification.deadline} />.
        </p>
      )}
      {approval !== undefined && (
        <p className="muted">
          A call of <Untrusted text={approval.tool} /> needs an approval, and is denied by itself{' '}
          <Countdown until={Date.parse(approval.expires_at)} />.
        </p>
      )}
      {session.outcome === 'cancelled' && <CancelledBy id={session.id} />}
      {deliveries.dead > 0 && (
        <p className="reason" role="note">
          {deliveries.dead} {deliveries.dead === 1 ? 'delivery is' : 'deliveries are'} dead: see{' '}
          <Link to="." search={{ tab: 'deliveries' }} replace>
            Outputs
          </Link>
          .
        </p>
      )}
    </>
  );
}

/** Who cancelled it. */
function CancelledBy({ id }: { readonly id: string }) {
  const { data: events = [] } = useEvents(id);
  const ended = events.findLast(({ type }) => type === 'session.ended');
  const actor = (ended?.meta as { readonly actor?: unknown } | undefined)?.actor;
  if (typeof actor !== 'string') return null;
  return (
    <p className="muted">
      Cancelled by <Untrusted text={actor} />
    </p>
  );
}

function DeliversTo({ session: { deliver } }: { readonly session: Session }) {
  const to = Object.entries(deliver.to)
    .map(([name, value]) => `${name} ${typeof value === 'string' ? value : JSON.stringify(value)}`)
    .join(', ');
  return (
    <>
      {deliver.target}
      {to !== '' && (
        <span className="muted">
          {' '}
          <Untrusted text={to} />
        </span>
      )}
    </>
  );
}

/** A link to the trace, if the config names a Jaeger. */
function TraceFact({ session }: { readonly session: Session }) {
  const { data } = useQuery({
    queryKey: ['jaeger'],
    queryFn: async ({ signal }) => (await ask(api.GET('/v1/system', { signal }))).jaeger_url,
    staleTime: Number.POSITIVE_INFINITY,
    retry: false,
  });
  if (session.trace_id === null) return null;
  const href = data == null ? null : safeHref(`${data.replace(/\/$/, '')}/trace/${session.trace_id}`);
  return (
    <div>
      <dt>Trace</dt>
      <dd>
        {href === null ? (
          <span className="mono">
            {session.trace_id}
            <CopyButton text={session.trace_id} of="the trace id" />
          </span>
        ) : (
          <ForeignLink href={href}>
            Open in Jaeger <Icon name="external" />
          </ForeignLink>
        )}
      </dd>
    </div>
  );
}

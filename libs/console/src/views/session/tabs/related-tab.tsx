import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { useRef } from 'react';
import { getSession, type Session } from '../../../api/calls/session-calls.ts';
import { api, ask } from '../../../api/client.ts';
import { useRefresh } from '../../../api/feed/use-refresh.ts';
import { useRowKeys } from '../../../app/keyboard/use-row-keys.ts';
import { Empty, Failed, Loading } from '../../../parts/feedback/states.tsx';
import { SessionBadge } from '../../../parts/session/session-badge.tsx';
import { Untrusted } from '../../../parts/text/text.tsx';
import { Time } from '../../../parts/time/time.tsx';
import { EventData } from '../session-event.ts';
import { sessionKey, useEvents } from '../use-session.ts';

/** The sessions before and after this one in its conversation, and webhooks that were coalesced into it. */
export function RelatedTab({ session }: { readonly session: Session }) {
  const { data: events = [] } = useEvents(session.id);
  const { data: before } = useQuery({
    queryKey: sessionKey(session.continues ?? ''),
    queryFn: ({ signal }) => getSession(session.continues ?? '', signal),
    enabled: session.continues !== undefined,
    retry: false,
  });
  const after = useContinuations(session);
  const list = useRef<HTMLDivElement>(null);
  useRowKeys(list);
  const coalesced = events.filter(({ type }) => type === 'webhook.coalesced');
  if (after.isPending) return <Loading what="related sessions" />;
  if (after.error !== null) return <Failed error={after.error} retry={() => void after.refetch()} />;
  if (session.continues === undefined && after.data.length === 0 && coalesced.length === 0)
    return (
      <Empty title="Nothing is related to this session">
        A message to an ended session opens a continuation. A route with `coalesce` puts webhooks of one key
        together.
      </Empty>
    );
  return (
    <div ref={list} className="related">
      {session.continues !== undefined && (
        <section aria-labelledby="continues">
          <h2 id="continues">Continues</h2>
          {before === undefined ? (
            <Link to="/sessions/$id" params={{ id: session.continues }} className="mono">
              {session.continues}
            </Link>
          ) : (
            <SessionCard session={before} />
          )}
        </section>
      )}
      {after.data.length > 0 && (
        <section aria-labelledby="continued">
          <h2 id="continued">Continued by</h2>
          {after.data.map((one) => (
            <SessionCard key={one.id} session={one} />
          ))}
        </section>
      )}
      {coalesced.length > 0 && (
        <section aria-labelledby="coalesced">
          <h2 id="coalesced">Webhooks that were coalesced into it</h2>
          <ul>
            {coalesced.map((event) => (
              <li key={event.version}>
                <Untrusted text={new EventData(event).text('delivery_id') ?? ''} className="mono" />{' '}
                <span className="muted">
                  <Time at={event.recorded_at} />
                </span>
              </li>
            ))}
          </ul>
        </section>
      )}
    </div>
  );
}

function useContinuations(session: Session) {
  const key = [...sessionKey(session.id), 'continuations'];
  useRefresh(key, ({ type, data }) => type === 'session.created' && continuesOf(data) === session.id);
  return useQuery({
    queryKey: key,
    queryFn: async ({ signal }) => {
      const query = { continues: session.id, sort: 'oldest' as const, limit: 200 };
      return (await ask(api.GET('/v1/sessions', { params: { query }, signal }))).items;
    },
  });
}

const continuesOf = (data: unknown) => (data as { readonly continues?: unknown } | null)?.continues;

function SessionCard({ session }: { readonly session: Session }) {
  return (
    <article className="panel session-card" data-row={session.id}>
      <Link to="/sessions/$id" params={{ id: session.id }} data-row-focus>
        <Untrusted text={session.title === '' ? session.id : session.title} />
      </Link>
      <SessionBadge session={session} />
      <span className="mono muted">{session.id}</span>
      <span className="muted">
        <Time at={session.created_at} />
      </span>
    </article>
  );
}

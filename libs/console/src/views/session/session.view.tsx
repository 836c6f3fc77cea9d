import { Link, useNavigate, useParams, useSearch } from '@tanstack/react-router';
import { ApiError } from '../../api/api-error.ts';
import { usePageTitle } from '../../app/shell/page-title.ts';
import { Tabs } from '../../parts/controls/tabs.tsx';
import { Empty, Failed, Loading } from '../../parts/feedback/states.tsx';
import { beginning, visibleText } from '../../parts/text/visible-text.ts';
import { SessionHeader } from './header/session-header.tsx';
import type { SessionTab } from './routes.ts';
import { DeliveriesTab } from './tabs/deliveries-tab.tsx';
import { EventsTab } from './tabs/events-tab.tsx';
import { ProcessesTab } from './tabs/processes-tab.tsx';
import { RelatedTab } from './tabs/related-tab.tsx';
import { TranscriptTab } from './tabs/transcript-tab.tsx';
import { useLiveSession, useSession } from './use-session.ts';
import { Timeline } from './waterfall/timeline.tsx';
import './session.css';

/** One session: what it is, what happened in it, and what can be done about it. */
export function SessionView() {
  const { id } = useParams({ from: '/shell/sessions/$id' });
  const { tab = 'timeline' } = useSearch({ from: '/shell/sessions/$id' });
  const navigate = useNavigate();
  const { data: session, error, refetch } = useSession(id);
  useLiveSession(id);
  usePageTitle(session === undefined ? 'Session' : visibleText(beginning(session.title, 80)));

  if (session === undefined) {
    if (error instanceof ApiError && error.status === 404) {
      return (
        <div className="page">
          <h1>No such session</h1>
          <Empty title="The session was pruned or erased, or the id is wrong">
            The id is <span className="mono">{visibleText(beginning(id, 100))}</span>. Look for it among{' '}
            <Link to="/sessions">all sessions</Link>.
          </Empty>
        </div>
      );
    }
    return (
      <div className="page">
        <h1 className="hidden-text">Session</h1>
        {error === null ? (
          <Loading what="the session" />
        ) : (
          <Failed error={error} retry={() => void refetch()} />
        )}
      </div>
    );
  }
  const { deliveries } = session;
  const tabs = [
    { name: 'timeline', label: 'Timeline' },
    { name: 'transcript', label: 'Transcript' },
    {
      name: 'deliveries',
      label: 'Outputs',
      count: deliveries.pending + deliveries.delivered + deliveries.dead,
    },
    { name: 'processes', label: 'Processes', count: session.processes.length },
    { name: 'events', label: 'Events', count: session.version },
    { name: 'related', label: 'Related' },
  ] as const;
  return (
    <div className="page session">
      <SessionHeader session={session} />
      <Tabs<SessionTab>
        label="Parts of the session"
        tabs={tabs}
        current={tab}
        onChange={(name) =>
          void navigate({ to: '.', search: name === 'timeline' ? {} : { tab: name }, replace: true })
        }
      >
        {tab === 'timeline' && <Timeline session={session} />}
        {tab === 'transcript' && <TranscriptTab session={session} />}
        {tab === 'deliveries' && <DeliveriesTab session={session} />}
        {tab === 'processes' && <ProcessesTab session={session} />}
        {tab === 'events' && <EventsTab id={session.id} />}
        {tab === 'related' && <RelatedTab session={session} />}
      </Tabs>
    </div>
  );
}

import { useQuery, useQueryClient } from '@tanstack/react-query';
import { Link, useNavigate, useParams } from '@tanstack/react-router';
import { useState } from 'react';
import { deleteRoute, getRoute, type Route, rotateSecret } from '../../api/calls/route-calls.ts';
import { Page } from '../../app/shell/page.tsx';
import { useUrlFilters } from '../../app/url-filters.ts';
import { Button } from '../../parts/controls/button.tsx';
import { CopyButton } from '../../parts/controls/copy-button.tsx';
import { Tabs } from '../../parts/controls/tabs.tsx';
import { Confirm } from '../../parts/dialog/confirm.tsx';
import { Badge } from '../../parts/feedback/badge.tsx';
import { Failed, Loading } from '../../parts/feedback/states.tsx';
import { tell } from '../../parts/feedback/toasts.tsx';
import { Untrusted } from '../../parts/text/text.tsx';
import { Time } from '../../parts/time/time.tsx';
import { RouteEditor } from './editor/route-editor.tsx';
import { atLeast, ROUTE_STATES } from './route-state.ts';
import { RouteYaml } from './route-yaml-panel.tsx';
import { SecretDialog } from './secret-dialog.tsx';
import { TryPanel } from './try/try-panel.tsx';
import './routes.css';

/** One route: what it did, its settings, and what a webhook would do. */
export function RouteView() {
  const { name = '' } = useParams({ strict: false });
  const route = useQuery({
    queryKey: ['routes', 'one', name],
    queryFn: ({ signal }) => getRoute(name, signal),
  });
  return (
    <Page title={name} beside={route.data !== undefined && <RouteActions route={route.data} />}>
      {route.isPending && <Loading what="the route" />}
      {route.isError && <Failed error={route.error} retry={() => void route.refetch()} />}
      {route.data !== undefined && (
        <>
          <RouteFacts route={route.data} />
          <RouteTabs route={route.data} />
        </>
      )}
    </Page>
  );
}

function RouteFacts({ route }: { readonly route: Route }) {
  const { tone, name } = ROUTE_STATES[route.status];
  const { traffic } = route;
  const url = `${location.origin}${route.path}`;
  return (
    <section className="panel stack" aria-label="About the route">
      <div className="row-head">
        <Badge tone={tone}>{name}</Badge>
        <span className="tag">{route.source === 'config' ? 'from the config file' : 'made by API'}</span>
        {!route.authenticated && <Badge tone="bad">no authentication</Badge>}
      </div>
      {route.problem !== null && (
        <p className="form-error">
          <Untrusted text={route.problem} />
        </p>
      )}
      <dl className="facts">
        <dt>Address</dt>
        <dd>
          <code>{url}</code> <CopyButton text={url} of="the address" />
        </dd>
        <dt>Last webhook</dt>
        <dd>{traffic?.last_webhook_at == null ? 'none seen' : <Time at={traffic.last_webhook_at} />}</dd>
        {traffic !== undefined && (
          <>
            <dt>In 24 hours</dt>
            <dd>
              <Link to="/sessions" search={{ route: route.name, since: '24h' } as never}>
                {atLeast(traffic.sessions, traffic.exact)} {traffic.sessions === 1 ? 'session' : 'sessions'}
              </Link>
              ,{' '}
              <Link to="/sessions" search={{ route: route.name, since: '24h', outcome: 'failed' } as never}>
                {atLeast(traffic.failed, traffic.exact)} failed
              </Link>
              ,{' '}
              <Link to="/webhooks" search={{ route: route.name, since: '24h' } as never}>
                webhooks that started nothing
              </Link>
            </dd>
          </>
        )}
        {route.updated_at !== null && (
          <>
            <dt>Changed</dt>
            <dd>
              <Time at={route.updated_at} /> (revision {route.revision})
            </dd>
          </>
        )}
      </dl>
    </section>
  );
}

function RouteTabs({ route }: { readonly route: Route }) {
  const [{ tab }, set] = useUrlFilters(['tab']);
  const ofFile = route.source === 'config';
  const tabs = ofFile
    ? ([
        { name: 'try', label: 'Try a webhook' },
        { name: 'yaml', label: 'Settings' },
      ] as const)
    : ([
        { name: 'edit', label: 'Settings and preview' },
        { name: 'yaml', label: 'YAML' },
      ] as const);
  const current = tabs.find(({ name }) => name === tab)?.name ?? tabs[0].name;
  return (
    <Tabs<'try' | 'edit' | 'yaml'>
      label="Parts of the route"
      tabs={tabs}
      current={current}
      onChange={(name) => set({ tab: name === tabs[0].name ? undefined : name })}
    >
      {current === 'edit' && <RouteEditor key={route.name} route={route} />}
      {current === 'try' && (
        <TryPanel name={route.name} settings={null} canSend={route.status !== 'unusable'} />
      )}
      {current === 'yaml' && <RouteYaml route={route} />}
    </Tabs>
  );
}

function RouteActions({ route }: { readonly route: Route }) {
  const [asking, setAsking] = useState<'rotate' | 'delete' | null>(null);
  const [keepPrevious, setKeepPrevious] = useState(true);
  const [secret, setSecret] = useState<string | null>(null);
  const queries = useQueryClient();
  const navigate = useNavigate();
  if (route.source === 'config') return null;
  const reload = () => queries.invalidateQueries({ queryKey: ['routes'] });
  return (
    <div className="list-actions">
      <Button onClick={() => setAsking('rotate')}>New secret…</Button>
      <Button onClick={() => setAsking('delete')}>Delete…</Button>
      {asking === 'rotate' && (
        <Confirm
          title={`New secret for ${route.name}`}
          act="Make a new secret"
          onClose={() => setAsking(null)}
          run={async () => {
            const rotated = await rotateSecret(route.name, route.revision, keepPrevious);
            setSecret(rotated.secret);
            await reload();
          }}
        >
          <p>The gateway makes a new secret and shows it once.</p>
          <label className="check">
            <input
              type="checkbox"
              checked={keepPrevious}
              onChange={(event) => setKeepPrevious(event.target.checked)}
            />
            Senders may use the old one, too, until the next new secret
          </label>
        </Confirm>
      )}
      {asking === 'delete' && (
        <Confirm
          title={`Delete ${route.name}`}
          act="Delete the route"
          danger
          onClose={() => setAsking(null)}
          run={async () => {
            await deleteRoute(route.name, route.revision);
            tell(`The route ${route.name} is deleted.`);
            await navigate({ to: '/routes' });
            await reload();
          }}
        >
          <p>Its webhooks are answered 404 from now on. Its sessions stay, and running ones continue.</p>
        </Confirm>
      )}
      {secret !== null && <SecretDialog name={route.name} secret={secret} onClose={() => setSecret(null)} />}
    </div>
  );
}

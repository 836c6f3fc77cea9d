import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { type ReactNode, useRef } from 'react';
import { getSystem, type System } from '../../api/calls/system-calls.ts';
import { useRowKeys } from '../../app/keyboard/use-row-keys.ts';
import { Page } from '../../app/shell/page.tsx';
import { Badge } from '../../parts/feedback/badge.tsx';
import { Failed, Loading } from '../../parts/feedback/states.tsx';
import { Untrusted } from '../../parts/text/text.tsx';
import { countText } from '../../parts/text/visible-text.ts';
import { duration } from '../../parts/time/format-time.ts';
import { Time } from '../../parts/time/time.tsx';
import { viewOf } from '../now/list-link.ts';
import { ConfigPanel } from './config-panel.tsx';
import { DoctorPanel } from './doctor-panel.tsx';
import './system.css';

/** The gateway shares one answer among all callers for some seconds. */
const POLL_MS = 5_000;
/** Longer than a slow commit or a checkpoint of Postgres. Beyond it, people notice. */
const LAG_IS_LONG_MS = 5_000;

/** The services, how far they are behind, the config in force and what is down. */
export function SystemView() {
  const panels = useRef<HTMLDivElement>(null);
  useRowKeys(panels);
  const system = useQuery({ queryKey: ['system'], queryFn: getSystem, refetchInterval: POLL_MS });
  return (
    <Page title="System">
      {system.isPending && <Loading what="the system" />}
      {system.isError && <Failed error={system.error} retry={() => void system.refetch()} />}
      {system.data !== undefined && (
        <div ref={panels} className="system">
          <Down system={system.data} />
          <Services system={system.data} />
          <Log system={system.data} />
          <Leaders system={system.data} />
          <DoctorPanel />
          <ConfigPanel config={system.data.config} />
        </div>
      )}
    </Page>
  );
}

function Panel({
  id,
  title,
  children,
}: {
  readonly id: string;
  readonly title: string;
  readonly children: ReactNode;
}) {
  return (
    <section
      className="panel stack"
      id={id}
      aria-labelledby={`${id}-title`}
      data-row={id}
      data-row-focus
      tabIndex={-1}
    >
      <h2 id={`${id}-title`}>{title}</h2>
      {children}
    </section>
  );
}

function Services({ system }: { readonly system: System }) {
  return (
    <Panel id="services" title="Services">
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls, so the keyboard has to reach it. */}
      <section className="table-scroll" aria-label="Services and their replicas" tabIndex={0}>
        <table className="table">
          <thead>
            <tr>
              <th scope="col">Service</th>
              <th scope="col">Replica</th>
              <th scope="col">State</th>
              <th scope="col">Version</th>
              <th scope="col">Seen</th>
            </tr>
          </thead>
          <tbody>
            {system.services.map(({ service, instance, version, status, seen_at }) => (
              <tr key={`${service} ${instance}`}>
                <td>{service}</td>
                <td className="mono">{instance}</td>
                <td>
                  <Badge tone={status === 'alive' ? 'ok' : 'bad'}>{status}</Badge>
                </td>
                <td>
                  {version}
                  {version !== system.version && (
                    <span className="muted"> (this ingress: {system.version})</span>
                  )}
                </td>
                <td>
                  <Time at={seen_at} />
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </section>
    </Panel>
  );
}

function Log({ system: { lag, migrations, views, version } }: { readonly system: System }) {
  const lags = [
    ['Tail lag', lag.tail_ms, 'the oldest event that an open transaction hides'],
    ['Relay lag', lag.relay_ms, 'the oldest event that was not hinted yet'],
    ['Views lag', lag.views_ms, 'the oldest event that lists do not show yet'],
  ] as const;
  return (
    <Panel id="log" title="Log and views">
      <dl className="facts">
        {lags.map(([name, ms, means]) => (
          <div key={name} className="fact-row">
            <dt>{name}</dt>
            <dd>
              <Badge tone={ms > LAG_IS_LONG_MS ? 'bad' : 'ok'}>
                {ms === 0 ? 'up to date' : `${duration(ms)} behind`}
              </Badge>{' '}
              <span className="muted">{means}</span>
            </dd>
          </div>
        ))}
        <div className="fact-row">
          <dt>Migrations</dt>
          <dd>
            number {migrations.applied}
            {migrations.applied < migrations.needed && <Badge tone="bad">run angelia migrate</Badge>}
          </dd>
        </div>
        <div className="fact-row">
          <dt>Views</dt>
          <dd>
            version {views.version}
            {views.version < views.needed && <Badge tone="wait">version {views.needed} is being built</Badge>}
          </dd>
        </div>
        <div className="fact-row">
          <dt>Version</dt>
          <dd>{version}</dd>
        </div>
      </dl>
    </Panel>
  );
}

function Leaders({ system }: { readonly system: System }) {
  return (
    <Panel id="leaders" title="Leaders">
      {system.leaders.length === 0 && (
        <p>Nobody leads. If this does not change, look at the log of the services.</p>
      )}
      <dl className="facts">
        {system.leaders.map(({ name, instance }) => (
          <div key={name} className="fact-row">
            <dt>{name}</dt>
            <dd className="mono">{instance}</dd>
          </div>
        ))}
      </dl>
    </Panel>
  );
}

function Down({ system: { models_down, targets_down } }: { readonly system: System }) {
  if (models_down.length === 0 && targets_down.length === 0) return null;
  return (
    <Panel id="down" title="Down">
      <ul className="stack">
        {models_down.map(({ model, code, reason, sessions, list }) => (
          <li key={model}>
            <Badge tone="bad">{model}</Badge>{' '}
            {reason === 'unavailable' ? 'does not answer' : 'is configured wrongly'} (<code>{code}</code>):{' '}
            <Link to={viewOf(list)}>
              {countText(sessions)} {sessions === 1 ? 'session waits' : 'sessions wait'}
            </Link>
          </li>
        ))}
        {targets_down.map(({ target, deliveries, exact, reason, next_attempt_at, list }) => (
          <li key={target}>
            <Badge tone="bad">{target}</Badge>{' '}
            <Link to={viewOf(list)}>
              {exact ? '' : 'at least '}
              {countText(deliveries)} {deliveries === 1 ? 'delivery waits' : 'deliveries wait'}
            </Link>
            {next_attempt_at !== null && (
              <>
                , next attempt <Time at={next_attempt_at} />
              </>
            )}
            {reason !== null && (
              <div className="row-words form-error">
                <Untrusted text={reason} />
              </div>
            )}
          </li>
        ))}
      </ul>
    </Panel>
  );
}

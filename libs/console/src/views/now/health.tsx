import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { api, ask, type Schema } from '../../api/client.ts';
import { Badge, type Tone } from '../../parts/feedback/badge.tsx';
import { Failed } from '../../parts/feedback/states.tsx';
import { Untrusted } from '../../parts/text/text.tsx';
import { countText } from '../../parts/text/visible-text.ts';
import { duration } from '../../parts/time/format-time.ts';
import { Time } from '../../parts/time/time.tsx';
import { viewOf } from './list-link.ts';

const POLL_MS = 10_000;

/** Behind by more than this, somebody should look: docs/operate.md. */
const LAG_WARNING_MS = 5_000;

/** Services, how far the views are behind, and models and targets that are down. */
export function Health() {
  const { data, error } = useQuery({
    queryKey: ['system'],
    queryFn: ({ signal }) => ask(api.GET('/v1/system', { signal })),
    refetchInterval: POLL_MS,
  });
  if (data === undefined) return error === null ? null : <Failed error={error} />;
  return (
    <section aria-labelledby="health" className="health">
      <h2 id="health">
        Health <Link to="/system">System</Link>
      </h2>
      <ul className="health-items">
        {data.services.map(({ instance, status, seen_at }) => (
          <Item key={instance} name={instance} tone={status === 'alive' ? 'ok' : 'bad'} state={status}>
            {status === 'lost' && (
              <>
                seen <Time at={seen_at} />
              </>
            )}
          </Item>
        ))}
        {lags(data).map(({ name, ms }) => (
          <Item
            key={name}
            name={name}
            tone={ms > LAG_WARNING_MS ? 'bad' : 'ok'}
            state={ms > LAG_WARNING_MS ? `${duration(ms, 1)} behind` : 'up to date'}
          />
        ))}
        {data.models_down.map(({ model, code, sessions, list }) => (
          <Item key={model} name={`Model ${model}`} tone="bad" state={code}>
            <Link to={viewOf(list)}>{countText(sessions)} waiting</Link>
          </Item>
        ))}
        {data.targets_down.map(({ target, deliveries, reason, list }) => (
          <Item key={target} name={`Target ${target}`} tone="bad" state="down">
            <Link to={viewOf(list)}>{countText(deliveries)} pending</Link>
            {reason !== null && (
              <>
                : <Untrusted text={reason} />
              </>
            )}
          </Item>
        ))}
      </ul>
      {data.config.problems.length > 0 && (
        <p className="reason" role="note">
          The config file has{' '}
          {data.config.problems.length === 1 ? 'a problem' : `${data.config.problems.length} problems`}; the
          last good one is in force. <Link to="/system">See System</Link>
        </p>
      )}
    </section>
  );
}

const lags = ({ lag }: Schema['System']) => [
  { name: 'Lists', ms: lag.views_ms },
  { name: 'Relay', ms: lag.relay_ms },
  { name: 'Tail', ms: lag.tail_ms },
];

function Item(props: {
  readonly name: string;
  readonly tone: Tone;
  readonly state: string;
  readonly children?: ReactNode;
}) {
  return (
    <li className="health-item">
      <span className="health-name">{props.name}</span>
      <Badge tone={props.tone}>{props.state}</Badge>
      <span className="muted health-note">{props.children}</span>
    </li>
  );
}

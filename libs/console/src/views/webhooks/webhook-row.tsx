import { Link } from '@tanstack/react-router';
import type { UnstartedWebhook } from '../../api/calls/webhook-calls.ts';
import { Badge } from '../../parts/feedback/badge.tsx';
import { Untrusted } from '../../parts/text/text.tsx';
import { Time } from '../../parts/time/time.tsx';
import { OUTCOMES } from './outcomes.ts';

/** One webhook and why it started nothing. */
export function WebhookRow({ webhook }: { readonly webhook: UnstartedWebhook }) {
  const { tone, name, means } = OUTCOMES[webhook.outcome];
  return (
    <li className="row" data-row={webhook.received_at}>
      <div className="row-head">
        <Badge tone={tone}>{name}</Badge>
        {webhook.route === null ? (
          <span data-row-focus tabIndex={-1}>
            no route <Untrusted text={webhook.requested_route ?? ''} className="mono" />
          </span>
        ) : (
          <Link to="/routes/$name" params={{ name: webhook.route }} className="row-name" data-row-focus>
            {webhook.route}
          </Link>
        )}
        {webhook.event !== null && (
          <span className="tag">
            <Untrusted text={webhook.event} />
          </span>
        )}
        <span className="end">
          <Time at={webhook.received_at} />
        </span>
      </div>
      <p className="row-words">{webhook.detail === null ? means : <Untrusted text={webhook.detail} />}</p>
      <div className="row-foot">
        <span>
          reason <code>{webhook.reason}</code>
        </span>
        <span>answered {webhook.status}</span>
        {webhook.delivery_id !== null && (
          <span>
            delivery <Untrusted text={webhook.delivery_id} className="mono" />
          </span>
        )}
        {webhook.source !== null && (
          <span>
            from <Untrusted text={webhook.source} className="mono" />
          </span>
        )}
        {webhook.session_id !== null && (
          <Link to="/sessions/$id" params={{ id: webhook.session_id }}>
            session of the first delivery
          </Link>
        )}
      </div>
    </li>
  );
}

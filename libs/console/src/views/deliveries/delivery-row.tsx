import { Link } from '@tanstack/react-router';
import type { Delivery } from '../../api/calls/delivery-calls.ts';
import { Button } from '../../parts/controls/button.tsx';
import { CopyButton } from '../../parts/controls/copy-button.tsx';
import { Badge } from '../../parts/feedback/badge.tsx';
import { Untrusted } from '../../parts/text/text.tsx';
import { Time } from '../../parts/time/time.tsx';
import { attemptsText, DELIVERY_STATES, KINDS } from './delivery-state.ts';

interface Props {
  readonly delivery: Delivery;
  readonly selected: boolean;
  readonly onSelect: () => void;
  readonly onRetry: () => void;
}

/** One delivery, with the platform's own words about its last attempt. */
export function DeliveryRow({ delivery, selected, onSelect, onRetry }: Props) {
  const { tone, name } = DELIVERY_STATES[delivery.status];
  const dead = delivery.status === 'dead';
  return (
    <li className={`row ${selected ? 'row-selected' : ''}`} data-row={delivery.id}>
      <div className="row-head">
        {dead && (
          <label className="row-check">
            <input
              type="checkbox"
              aria-label={`Select the delivery ${delivery.id}`}
              checked={selected}
              onChange={onSelect}
            />
          </label>
        )}
        <Badge tone={tone}>{name}</Badge>
        <span className="row-name">
          {KINDS[delivery.kind]} to {delivery.target}
        </span>
        {delivery.via === 'fallback_target' && <span className="tag">fallback</span>}
        {delivery.possible_duplicate && <span className="tag">possible duplicate</span>}
        <span className="end">
          <Time at={delivery.updated_at} />
        </span>
      </div>
      {delivery.reason !== null && (
        <p className={`row-words ${dead ? 'row-words-bad' : ''}`}>
          <Untrusted text={delivery.reason} />
        </p>
      )}
      <div className="row-foot">
        <Link to="/sessions/$id" params={{ id: delivery.session_id }} className="mono" data-row-focus>
          {delivery.session_id}
        </Link>
        <span>turn {delivery.turn}</span>
        <span>{attemptsText(delivery)}</span>
        {delivery.status === 'pending' && delivery.next_attempt_at !== null && (
          <span>
            next <Time at={delivery.next_attempt_at} />
          </span>
        )}
        {delivery.receipt !== null && (
          <span>
            receipt <Untrusted text={delivery.receipt} className="mono" />
          </span>
        )}
        <CopyButton text={delivery.id} of="the id of the delivery" />
        {dead && (
          <Button className="end" aria-label={`Retry the delivery ${delivery.id}`} onClick={onRetry}>
            Retry
          </Button>
        )}
      </div>
    </li>
  );
}

import { hmacPresets, tokenPresets } from '@angelia/contracts';
import { nameAt, propertyOf } from '../../payload/lookup.ts';
import { eventInHeader, idInHeaders } from '../provider-names.ts';
import { hmacScheme, tokenScheme } from './configured.ts';

// How these senders sign is in libs/contracts (auth-presets.ts). Here is how they name a delivery and its event.

export const sentry = hmacScheme('sentry', hmacPresets.sentry);

export const grafana = hmacScheme('grafana', hmacPresets.grafana);

export const pagerduty = hmacScheme('pagerduty', hmacPresets.pagerduty, {
  id: ({ payload }) => textOf(nameAt(propertyOf(payload, 'event'), 'id')),
  idIsSigned: true,
  event: ({ payload }) => nameAt(propertyOf(payload, 'event'), 'event_type'),
  eventIsSigned: true,
});

export const bitbucket = hmacScheme('bitbucket', hmacPresets.bitbucket, {
  // Cloud, and Data Center. Not signed, but there are no others.
  id: idInHeaders('x-request-uuid', 'x-request-id'),
  event: eventInHeader('x-event-key'),
});

export const zendesk = hmacScheme('zendesk', hmacPresets.zendesk, {
  // Not signed, but there is no other.
  id: idInHeaders('x-zendesk-webhook-invocation-id'),
  event: ({ payload }) => nameAt(payload, 'type'),
});

export const typeform = hmacScheme('typeform', hmacPresets.typeform, {
  id: ({ payload }) => textOf(nameAt(payload, 'event_id')),
  idIsSigned: true,
  event: ({ payload }) => nameAt(payload, 'event_type'),
  eventIsSigned: true,
});

export const telegram = tokenScheme('telegram', tokenPresets.telegram, {
  id: ({ payload }) => {
    const id = propertyOf(payload, 'update_id');
    return typeof id === 'number' ? { text: String(id) } : null;
  },
  // An update has its `update_id` and one more key, which names its kind: `message`, `callback_query`.
  event: ({ payload }) =>
    typeof payload === 'object' && payload !== null
      ? (Object.keys(payload).find((key) => key !== 'update_id') ?? null)
      : null,
});

function textOf(text: string | null): { readonly text: string } | null {
  return text === null ? null : { text };
}

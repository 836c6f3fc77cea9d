import { equalsText } from '../digest.ts';
import { eventInHeader, firstHeader } from '../provider-names.ts';
import { claimsHeader, headerOf, type Scheme } from '../scheme.ts';
import { standardProblem, verifyStandard } from './standard-webhooks.ts';

/**
 * GitLab. With a signing token (newer versions have one) GitLab signs by Standard Webhooks, and that signature alone
 * decides. With only a secret token, `X-Gitlab-Token` is that token.
 */
export const gitlab: Scheme = {
  name: 'gitlab',
  header: 'X-Gitlab-Token',
  claims: claimsHeader('x-gitlab-token'),
  verify(request, secret) {
    if (request.headers['webhook-signature'] !== undefined) return verifyStandard('webhook', request, secret);
    const token = headerOf(request.headers, 'x-gitlab-token');
    return token !== null && equalsText(token, secret);
  },
  problem: (request) =>
    request.headers['webhook-signature'] === undefined ? null : standardProblem('webhook', request),
  provider: {
    id: ({ headers }) => {
      // If there is a signature, `webhook-id` is part of it, and so it is present.
      const text = firstHeader(headers, ['webhook-id', 'idempotency-key']);
      if (text !== null) return { text };
      // For versions without these. One request to GitLab may cause several events with the same UUID.
      const uuid = firstHeader(headers, ['x-gitlab-event-uuid']);
      return uuid === null ? null : { text: uuid, perBody: true };
    },
    event: eventInHeader('x-gitlab-event'),
  },
};

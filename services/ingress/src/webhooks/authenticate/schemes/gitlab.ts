import { eventInHeader, firstHeader } from '../provider-names.ts';
import { claimsHeader, headerOf, type Scheme } from '../scheme.ts';
import { equalsText } from '../token.ts';
import { verifyStandard } from './standard-webhooks.ts';

/**
 * GitLab. With a signing token (newer versions have one) it signs by Standard Webhooks, and a request that carries such a signature
 * is judged by it alone. With a secret token only, `X-Gitlab-Token` is that token.
 */
export const gitlab: Scheme = {
  name: 'gitlab',
  claims: claimsHeader('x-gitlab-token'),
  verify(request, secret) {
    if (request.headers['webhook-signature'] !== undefined) return verifyStandard('webhook', request, secret);
    const token = headerOf(request.headers, 'x-gitlab-token');
    return token !== null && equalsText(token, secret);
  },
  own: {
    id: ({ headers }) => {
      // `webhook-id` is part of the signature, where there is one; then it is there.
      const text = firstHeader(headers, ['webhook-id', 'idempotency-key']);
      if (text !== null) return { text };
      // Of versions without these. One request to GitLab may cause several events with the same UUID.
      const uuid = firstHeader(headers, ['x-gitlab-event-uuid']);
      return uuid === null ? null : { text: uuid, perBody: true };
    },
    event: eventInHeader('x-gitlab-event'),
  },
};

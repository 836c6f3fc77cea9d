import { claimsHeader, headerOf, type Scheme } from './scheme.ts';
import { verifyStandard } from './standard-webhooks.ts';
import { equalsText } from './token.ts';

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
};

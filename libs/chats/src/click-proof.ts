import { createHmac, timingSafeEqual } from 'node:crypto';

/**
 * Mattermost signs nothing. It shows the data that a button sends us (`integration.context`) to nobody, so a proof in that data
 * shows that a click comes from the server that we gave the button to. delivery writes it and ingress checks it: the key is the
 * bot's token, which both have.
 */
export function clickProof(token: string, data: string): string {
  return createHmac('sha256', token).update(`angelia click ${data}`).digest('base64url');
}

/** In constant time. */
export function isClickProof(given: string, token: string, data: string): boolean {
  const proof = Buffer.from(clickProof(token, data));
  const bytes = Buffer.from(given);
  return bytes.length === proof.length && timingSafeEqual(bytes, proof);
}

import { equalsText } from '../digest.ts';
import { headerOf, type Scheme } from '../scheme.ts';

const BASIC = /^basic +([A-Za-z0-9+/]+={0,2})$/i;

/**
 * `Authorization: Basic <base64 of user:password>`. The secret of the route is either `user:password` or the password
 * alone, with any user name: senders such as Alertmanager require a user name, but it protects nothing.
 */
export const basic: Scheme = {
  name: 'basic',
  header: 'Authorization: Basic',
  claims: ({ authorization }) => authorization !== undefined && /^basic /i.test(authorization),
  verify({ headers }, secret) {
    const encoded = BASIC.exec(headerOf(headers, 'authorization') ?? '')?.[1];
    if (encoded === undefined) return false;
    const credentials = Buffer.from(encoded, 'base64').toString('utf8');
    const colon = credentials.indexOf(':');
    const both = equalsText(credentials, secret);
    const password = equalsText(credentials.slice(colon + 1), secret);
    return colon >= 0 && (both || password);
  },
};

import { z } from 'zod';
import { answer, component, htmlPage, operation } from '../http/operation.ts';

/** Longer than any: a code has 87 characters, a token is what an operator pastes. */
const secret = z.string().min(1).max(1_000);

export const signIn = component(
  'SignIn',
  z
    .strictObject({
      code: secret.optional().describe('of a link: what follows the `#`'),
      token: secret.optional().describe('the admin token'),
    })
    .refine(({ code, token }) => (code === undefined) !== (token === undefined), {
      message: 'give either `code` or `token`',
    }),
);

const consoleSession = component(
  'ConsoleSession',
  z.object({
    actor: z.string().describe('as events name whoever uses this session'),
    csrf_token: z.string().describe('for the header `X-Angelia-CSRF` of every call that changes something'),
    expires_at: z.iso.datetime(),
  }),
);
export type ConsoleSessionJson = z.infer<typeof consoleSession>;

const consoleLink = component(
  'ConsoleLink',
  z.object({
    url: z
      .string()
      .describe('signs in the browser that opens it; the code after the `#` reaches no server log'),
    expires_at: z.iso.datetime(),
  }),
);
export type ConsoleLinkJson = z.infer<typeof consoleLink>;

export const consoleOperations = [
  operation({
    method: 'get',
    path: '/console',
    summary: 'The web console',
    description:
      'The same page answers every address below it that is not a file: the page reads the address.',
    access: 'open',
    answers: {
      200: { description: 'the page', schema: htmlPage, contentType: 'text/html' },
      404: { description: 'the console is not built', schema: htmlPage, contentType: 'text/plain' },
    },
  }),
  operation({
    method: 'post',
    path: '/console/session',
    summary: 'Sign a browser in, with the code of a link or with the admin token',
    description:
      'Sets the cookie `angelia_session` for twelve hours. 401 with code `link_expired`: the link was used or is old. ' +
      '403: a page of another origin sent it, or the page was opened by http from another machine.',
    access: 'open',
    body: signIn,
    answers: { 200: answer('signed in', consoleSession) },
    errors: [400, 401, 403, 413, 415, 429, 503],
  }),
  operation({
    method: 'get',
    path: '/console/session',
    summary: 'Who is signed in in this browser',
    access: 'console',
    answers: { 200: answer('signed in', consoleSession) },
  }),
  operation({
    method: 'delete',
    path: '/console/session',
    summary: 'Sign out: this session ends, on every replica within seconds',
    access: 'console',
    headers: { 'X-Angelia-CSRF': '`csrf_token` of the session' },
    answers: { 204: answer('signed out') },
  }),
  operation({
    method: 'post',
    path: '/v1/console/links',
    summary: 'A link that signs a browser in, once, within ten minutes',
    access: 'admin',
    answers: { 201: answer('made', consoleLink) },
  }),
];

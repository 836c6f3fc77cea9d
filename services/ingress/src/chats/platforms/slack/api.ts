import type { PlatformCall } from '../../platform.ts';
import { callJson } from '../call-json.ts';

/** Slack refused the call. Its word for the reason holds no secret. */
export class SlackRefused extends Error {
  override readonly name = 'SlackRefused';
  readonly error: string;

  constructor(method: string, error: string, needed: unknown) {
    super(
      `Slack refused ${method}: ${error}${typeof needed === 'string' ? ` (needed: ${needed})` : ''}`.slice(
        0,
        300,
      ),
    );
    this.error = error;
  }
}

/** They take their arguments in the query only. */
const READS: ReadonlySet<string> = new Set([
  'conversations.history',
  'conversations.replies',
  'files.info',
  'users.conversations',
]);

/**
 * One call of the Web API, by the bot of `targets.slack` unless another token is given.
 * @throws SlackRefused; CallRefused and others of call-json.ts
 */
export async function callSlack(
  method: string,
  body: Readonly<Record<string, string>>,
  { settings, signal }: PlatformCall,
  token = String(settings.target.bot_token),
): Promise<Readonly<Record<string, unknown>>> {
  const url = new URL(`${String(settings.target.api_base)}/${method}`);
  const reads = READS.has(method);
  if (reads) url.search = new URLSearchParams(body).toString();
  const answer = await callJson({
    what: `Slack refused ${method}`,
    method: reads ? 'GET' : 'POST',
    url: url.href,
    headers: {
      authorization: `Bearer ${token}`,
      // Slack warns about JSON without a charset.
      ...(reads ? {} : { 'content-type': 'application/json; charset=utf-8' }),
    },
    ...(reads ? {} : { body }),
    signal,
  });
  const said = (answer ?? {}) as Readonly<Record<string, unknown>>;
  // It reports errors with status 200.
  if (said.ok === true) return said;
  throw new SlackRefused(
    method,
    typeof said.error === 'string' ? said.error : 'without a reason',
    said.needed,
  );
}

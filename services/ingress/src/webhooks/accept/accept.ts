import type { Bus } from '@angelia/bus';
import type { KeyedSessions, Sessions } from '@angelia/sessions';
import type { Admitted } from '../admit/admit.ts';
import { firstSentAs } from '../admit/delivery-id.ts';
import type { Received } from '../receive/receive.ts';
import type { Rendered } from '../render/render.ts';
import type { RouteWarnings } from '../route-warnings.ts';
import { COMMIT_TIMEOUT_MS, UncommittedBodies, withCommitTimeout } from './commit-limits.ts';
import { type Acceptance, createSession } from './create-session.ts';
import { joinSession } from './join-session.ts';

export interface AcceptContext {
  readonly sessions: Sessions;
  readonly keyedSessions: Pick<KeyedSessions, 'execute'>;
  readonly bus: Pick<Bus, 'ping'>;
  readonly warnings: RouteWarnings;
  /** Who sent it, if it is not the sender of the route. Default: the instance of this service. */
  readonly actor?: string;
}

/** One for the process, because it bounds the memory of the process. */
const uncommitted = new UncommittedBodies();

/**
 * Step 7: the webhook becomes a session, or joins the current session of its key. Resolves after the commit (invariant
 * accepted-is-durable).
 *
 * @throws Refusal 400 (no address for the answer), 409 (`on_busy: reject`), 429, 503; CommitUnknown; LogUnavailable,
 *   LogOverloaded: nothing was taken, the sender should try again
 */
export function accept(
  context: AcceptContext,
  received: Received,
  admitted: Admitted,
  rendered: Rendered,
): Promise<Acceptance> {
  return withCommitTimeout(
    COMMIT_TIMEOUT_MS,
    uncommitted.hold(received.body.length, () => commit(context, received, admitted, rendered)),
  );
}

async function commit(
  context: AcceptContext,
  received: Received,
  { event, delivery: sent }: Admitted,
  rendered: Rendered,
): Promise<Acceptance> {
  const { sessions, warnings } = context;
  const { keying, maxQueueSeconds, name } = received.route;
  const { key } = rendered;
  // This host's clock judges signatures, because senders' clocks do too. The database's clock judges deadlines.
  const hasDeadline = keying !== null || maxQueueSeconds !== null;
  const nowMs = hasDeadline ? await sessions.now() : received.nowMs;
  const delivery = sent.signed === undefined ? sent : await firstSentAs(sessions, name, sent);
  const webhook = { received, event, delivery, rendered, nowMs };
  if (keying !== null && key !== null) return joinSession(context, webhook, keying, key);
  const accepted = await createSession(sessions, webhook, context.actor);
  if (keying !== null) warnings.incompleteKey(name);
  return accepted;
}

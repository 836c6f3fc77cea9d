import { isSessionId, type SessionId } from '@angelia/contracts';
import { z } from 'zod';
import { component } from '../../http/operation.ts';
import { Refusal } from '../../http/refusal.ts';

/** As a filter. Never a shortened id: it might match several sessions. */
export const sessionIdFilter = z.string().refine(isSessionId, 'give the whole id of a session');

export const sessionIdJson = component('SessionId', z.object({ session_id: z.uuid() }));

/** The parameter of a path, for the OpenAPI document. */
export const sessionIdParameter = { id: 'the whole id of the session' };

/** @throws Refusal 400 for anything but a whole id: a shortened one might match several sessions, so we never guess */
export function wholeSessionId(text: string): SessionId {
  if (isSessionId(text)) return text;
  throw new Refusal(
    400,
    'bad_session_id',
    'this is not a session id: give the whole lower-case uuid, as in `session_id` or GET /v1/sessions; ids are never shortened',
  );
}

export function unknownSession(): Refusal {
  return new Refusal(
    404,
    'unknown_session',
    'there is no session with this id; it may have been pruned: GET /v1/sessions lists the sessions',
  );
}

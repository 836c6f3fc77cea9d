import type { TranscriptMessage } from '@angelia/contracts';
import type { SessionState, StreamEvent } from '../state.ts';
import { transcript } from '../transcript/transcript.ts';
import type { CreateSession } from './decide-turns.ts';

/** What a continuation inherits from the session that it continues. The rest is its own first turn. */
type Continuation = Pick<
  CreateSession,
  | 'route'
  | 'event'
  | 'title'
  | 'agent'
  | 'toolsets'
  | 'skills'
  | 'deliver'
  | 'fallbackTarget'
  | 'interim'
  | 'sessionKey'
  | 'maxConcurrency'
  | 'apiRoute'
  | 'tools'
  | 'deliverFiles'
  | 'continues'
  | 'conversationId'
  | 'watcher'
  | 'history'
>;

/**
 * The fields of `create-session` for a session that continues an ended one: its captured config (config-is-a-fact) and its
 * transcript, so that the new stream is enough to go on. A webhook that continues a session brings its own config and
 * takes only the fields that name the conversation: `continues`, `conversationId`, `watcher` and `history`.
 */
export function continuation(old: {
  readonly id: string;
  readonly state: SessionState;
  readonly events: readonly StreamEvent[];
}): Continuation {
  const { created } = old.state;
  if (created === null) throw new Error(`${old.id} cannot be continued: there is no such session`);
  return {
    route: created.route,
    event: created.event,
    title: created.title,
    agent: created.agent,
    toolsets: created.toolsets,
    skills: created.skills,
    deliver: created.deliver,
    fallbackTarget: created.fallbackTarget,
    interim: created.interim,
    sessionKey: created.sessionKey,
    maxConcurrency: created.maxConcurrency,
    ...(created.apiRoute ? { apiRoute: true } : {}),
    ...(created.tools ? { tools: created.tools } : {}),
    ...(created.deliverFiles ? { deliverFiles: created.deliverFiles } : {}),
    continues: old.id,
    conversationId: created.conversationId ?? old.id,
    watcher: old.state.watcher ?? null,
    history: newestExchanges(transcript(old.events)),
  };
}

/**
 * In characters; about 250,000 tokens, more than most models accept. Each continuation carries everything before it.
 * Without a bound, a chain of a thousand webhooks under one key would store a thousand growing copies.
 */
export const LONGEST_HISTORY = 1_000_000;
const OMITTED_NOTE = '[The beginning of this conversation is left out here.]\n\n';

/** Leaves out whole exchanges, the oldest first, so that no tool result is without its call. */
function newestExchanges(messages: readonly TranscriptMessage[]): readonly TranscriptMessage[] {
  let size = 0;
  let from = messages.length;
  for (let i = messages.length - 1; i >= 0; i -= 1) {
    const message = messages[i] as TranscriptMessage;
    size += message.content.length + JSON.stringify(message.tool_calls ?? []).length;
    if (size > LONGEST_HISTORY) break;
    if (message.role === 'user') from = i;
  }
  const [first, ...rest] = messages.slice(from);
  if (from === 0 || first === undefined) return messages.slice(from);
  return [{ ...first, content: `${OMITTED_NOTE}${first.content}` }, ...rest];
}

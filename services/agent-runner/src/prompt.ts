import type { AgentConfig } from '@angelia/contracts';
import type { Loaded } from '@angelia/service-kit';
import { resumeNote, transcript } from '@angelia/session';
import type { ModelMessage, ModelRequest } from './models/model.ts';

/** What the model is given: the agent's system prompt, the recorded conversation, and that it was interrupted if it was. */
export function renderPrompt(
  agent: AgentConfig,
  { events, state }: Pick<Loaded, 'events' | 'state'>,
): ModelRequest {
  const note = resumeNote(state);
  return {
    // In the system prompt, not in the conversation: there is one note, however often the run was resumed (C4).
    system: note === null ? agent.system : `${agent.system}\n\n${note}`,
    messages: transcript(events).flatMap(({ role, content }): ModelMessage[] =>
      role === 'tool' ? [] : [{ role, content }],
    ),
  };
}

import { readSkill } from '@angelia/config';
import type { LlmAgentConfig, TranscriptMessage } from '@angelia/contracts';
import { fenceNote, hasFence, markOfTurn, resultsAreFenced, resumeNote, transcript } from '@angelia/session';
import type { Loaded } from '@angelia/sessions';
import type { ModelMessage, ModelRequest, ToolSpec } from '../../models/model.ts';

/**
 * What the model is given: the agent's system prompt and the route's skills, what is foreign in the conversation, the
 * recorded conversation, and that it was interrupted if it was. The names of the skills are the session's; their text is what the files say now.
 *
 * @throws SkillUnavailable
 */
export function renderPrompt(
  agent: Pick<LlmAgentConfig, 'system'>,
  skillsDirectory: string,
  { events, state }: Pick<Loaded, 'events' | 'state'>,
  tools: readonly ToolSpec[],
): ModelRequest {
  const note = resumeNote(state);
  const rows = transcript(events);
  const skills = (state.created?.skills ?? []).map(
    (name) => `# Skill: ${name}\n\n${readSkill(skillsDirectory, name)}`,
  );
  return {
    // In the system prompt, not in the conversation: there is one note, however often the run was resumed (C4).
    system: [
      agent.system,
      ...skills,
      ...aboutFences(state, rows, tools),
      ...(note === null ? [] : [note]),
    ].join('\n\n'),
    messages: asMessages(rows),
    tools,
  };
}

/**
 * The mark is named where the turn has it, or may get it by the result of a tool: it does not change within a run, so that
 * a provider's cache of the prompt is not lost. Nothing in sessions from before there were marks.
 */
function aboutFences(
  state: Loaded['state'],
  rows: readonly TranscriptMessage[],
  tools: readonly ToolSpec[],
): string[] {
  const turn = state.run?.turn ?? state.lastTurn;
  const mark = markOfTurn(state, turn);
  if (mark === null) return [];
  const inUse =
    tools.some(({ name }) => resultsAreFenced(name)) || rows.some(({ content }) => hasFence(content, mark));
  return [fenceNote(inUse ? mark : null)];
}

/** The rows of a transcript for a model. The name of a result's tool is in the call that it answers. */
export function asMessages(rows: readonly TranscriptMessage[]): ModelMessage[] {
  const names = new Map<string, string>();
  return rows.map((row): ModelMessage => {
    const { role, content } = row;
    if (role === 'user') return { role, content };
    if (role === 'assistant') {
      for (const call of row.tool_calls ?? []) names.set(call.id, call.name);
      return { role, content, toolCalls: row.tool_calls ?? [] };
    }
    const callId = row.tool_call_id ?? '';
    return { role, callId, tool: names.get(callId) ?? '', content };
  });
}

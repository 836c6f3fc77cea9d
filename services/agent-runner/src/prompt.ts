import type { AgentConfig } from '@angelia/contracts';
import { type Loaded, readSkill } from '@angelia/service-kit';
import { resumeNote, transcript } from '@angelia/session';
import type { ModelMessage, ModelRequest } from './models/model.ts';

/**
 * What the model is given: the agent's system prompt and the route's skills, the recorded conversation, and that it
 * was interrupted if it was. The names of the skills are the session's; their text is what the files say now.
 *
 * @throws SkillUnavailable
 */
export function renderPrompt(
  agent: AgentConfig,
  skillsDirectory: string,
  { events, state }: Pick<Loaded, 'events' | 'state'>,
): ModelRequest {
  const note = resumeNote(state);
  const skills = (state.created?.skills ?? []).map(
    (name) => `# Skill: ${name}\n\n${readSkill(skillsDirectory, name)}`,
  );
  return {
    // In the system prompt, not in the conversation: there is one note, however often the run was resumed (C4).
    system: [agent.system, ...skills, ...(note === null ? [] : [note])].join('\n\n'),
    messages: transcript(events).flatMap(({ role, content }): ModelMessage[] =>
      role === 'tool' ? [] : [{ role, content }],
    ),
  };
}

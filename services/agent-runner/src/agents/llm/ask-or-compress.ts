import type { LlmAgentConfig } from '@angelia/contracts';
import type { ToolSpec } from '../../models/model.ts';
import type { Run } from '../../run/claimed-run.ts';
import { compress, needsCompression } from './compress-context.ts';
import { type Answer, ConversationTooLong, type FallbackModels } from './model-fallback.ts';
import { renderPrompt } from './render-prompt.ts';

export interface AskDeps {
  readonly agent: Pick<LlmAgentConfig, 'system'>;
  readonly tools: readonly ToolSpec[];
  /** What MCP servers say about their tools. */
  readonly aboutTools: readonly string[];
  readonly models: FallbackModels;
  readonly skillsDirectory: string;
}

/**
 * Asks the model for its next answer to the conversation in the stream. Null: the conversation was compressed instead,
 * which took tokens; read the stream and ask again.
 *
 * @throws ModelsFailed, SkillUnavailable, RunOver, and the reason of the run's signal
 */
export async function askOrCompress(run: Run, deps: AskDeps): Promise<Answer | null> {
  const request = renderPrompt(deps.agent, deps.skillsDirectory, run.loaded, deps.tools, deps.aboutTools);
  if (
    needsCompression(request, run.loaded.events, deps.models.current) &&
    (await compress(run, deps.models, request, 'some'))
  ) {
    return null;
  }
  try {
    return await deps.models.ask(request, { canShorten: true });
  } catch (error) {
    if (!(error instanceof ConversationTooLong)) throw error;
    // The window is smaller than the config says, or our count of tokens is too low.
    if (await compress(run, deps.models, request, 'all')) return null;
    return deps.models.ask(request, { canShorten: false });
  }
}

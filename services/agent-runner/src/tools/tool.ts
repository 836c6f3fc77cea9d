import type { LlmAgentConfig } from '@angelia/contracts';
import type { Loaded } from '@angelia/sessions';
import type { Run } from '../run/claimed-run.ts';

/**
 * Something that the model may call. Who carries a call out decides what becomes of it when this runner dies:
 *
 *   runner   here and now (MCP): nobody knows how far it came; the model is told that its outcome is unknown (C14)
 *   watcher  process-watcher, which hears of it by `tool.started`: its result survives the runner, and is waited for
 *   user     a person (clarify): the run is over until the answer comes, and no runner is held meanwhile
 */
export type Tool = RunnerTool | WatcherTool | UserTool;

interface Described {
  readonly name: string;
  /** For the model. */
  readonly description: string;
  /** JSON schema of its arguments: an object. */
  readonly parameters: Readonly<Record<string, unknown>>;
  /** What is wrong with the arguments, for the model to mend; null: they can be used. Such a call is not begun. */
  check(args: unknown): string | null;
}

export interface RunnerTool extends Described {
  readonly by: 'runner';
  /** Several calls of one step may run at the same time. Otherwise they follow each other in the model's order. */
  readonly parallel: boolean;
  /** Errors are results for the model: one that is thrown becomes one as well. When aborted: throw `signal.reason`. */
  run(args: unknown, call: CallContext): Promise<ToolResult>;
}

export interface WatcherTool extends Described {
  readonly by: 'watcher';
  readonly parallel: boolean;
  /** How long the call may take by its own arguments; a while later its outcome is unknown. */
  limitSeconds(args: unknown): number;
}

export interface UserTool extends Described {
  readonly by: 'user';
  /** Called when every other call of the step has its result. Ends the run (`run.end`), whose result it returns. */
  ask(args: unknown, call: AskContext): Promise<Loaded | null>;
}

export interface CallContext {
  readonly sessionId: string;
  readonly callId: string;
  /** Aborted when the run is stopped. */
  readonly signal: AbortSignal;
}

export interface AskContext {
  readonly run: Run;
  readonly agent: LlmAgentConfig;
  readonly callId: string;
}

export interface ToolResult {
  readonly outcome: 'ok' | 'error';
  readonly result: string;
}

import type { LlmAgentConfig } from '@angelia/contracts';
import type { Loaded } from '@angelia/sessions';
import type { Run } from '../run/claimed-run.ts';

/**
 * Something that the model may call. What happens to a call when this runner dies depends on who carries it out:
 *
 *   runner   this runner (MCP): nobody knows how far it came; the model is told that its outcome is unknown (C14)
 *   watcher  process-watcher, which starts on `tool.started`: its result survives the runner, and the next run waits for it
 *   user     a person (clarify): the run ends until the answer comes, and holds no runner meanwhile
 */
export type Tool = RunnerTool | WatcherTool | UserTool;

interface ToolDescription {
  readonly name: string;
  /** For the model. */
  readonly description: string;
  /** The JSON schema of its arguments, which are an object. */
  readonly parameters: Readonly<Record<string, unknown>>;
  /** What the MCP server of the tool says about all of its tools, for the model. */
  readonly instructions?: { readonly server: string; readonly text: string };
  /** Its MCP server has said that its list of tools changed. */
  isOutdated?(): boolean;
  /** What is wrong with the arguments, for the model to correct; then the call is not started. Null: nothing. */
  check(args: unknown): string | null;
}

export interface RunnerTool extends ToolDescription {
  readonly by: 'runner';
  /** Calls of one step may run at the same time. Otherwise they follow each other in the model's order. */
  readonly parallel: boolean;
  /** Errors are results for the model, thrown ones too. When aborted, it throws `signal.reason`. */
  run(args: unknown, call: CallContext): Promise<ToolResult>;
}

export interface WatcherTool extends ToolDescription {
  readonly by: 'watcher';
  readonly parallel: boolean;
  /** How long the call may take by its arguments. Some time after that its outcome counts as unknown. */
  limitSeconds(args: unknown): number;
}

export interface UserTool extends ToolDescription {
  readonly by: 'user';
  /** Called when every other call of the step has its result. Ends the run and returns the result of `run.end`. */
  ask(args: unknown, call: AskContext): Promise<Loaded | null>;
}

export interface CallContext {
  readonly sessionId: string;
  readonly callId: string;
  /** Aborted when the run is stopped. */
  readonly signal: AbortSignal;
}

interface AskContext {
  readonly run: Run;
  readonly agent: LlmAgentConfig;
  readonly callId: string;
}

export interface ToolResult {
  readonly outcome: 'ok' | 'error';
  /** Names the images, too: not every model can see them. */
  readonly result: string;
  readonly images?: readonly ToolImage[];
}

export interface ToolImage {
  readonly mimeType: string;
  /** In base64. */
  readonly data: string;
}

import type { CurrentConfig } from '@angelia/config';
import { type SessionId, sessionId } from '@angelia/contracts';
import type { Logger } from '@angelia/service-kit';
import { agentTools, decideAll, type SessionCommand } from '@angelia/session';
import { type Loaded, SESSION_ID, type Sessions, withSpan } from '@angelia/sessions';
import type { BackgroundProcesses } from '../background/background-processes.ts';
import type { HostCommands } from '../commands/host-commands.ts';
import type { Misplaced } from '../files/received-files.ts';
import { retryUntilDone } from '../retry-until-done.ts';
import type { SessionAffinity } from '../session-affinity.ts';
import { foregroundName, processIdOf, type SessionDirectories } from '../session-directories.ts';
import type { Tasks } from '../tasks.ts';
import { processTool } from './process-tool.ts';
import { approvalRefusal } from './refusals.ts';
import { commandAgent } from './run-command-agent.ts';
import { terminalTool } from './terminal-tool.ts';
import { type Call, type CallResult, failed, type OpenCall, openCalls } from './tool-call.ts';

interface CallsInFlightDeps {
  readonly config: CurrentConfig;
  readonly sessions: Pick<Sessions, 'load' | 'refresh' | 'execute'>;
  readonly directories: SessionDirectories;
  readonly commands: HostCommands;
  readonly background: BackgroundProcesses;
  readonly affinity: SessionAffinity;
  readonly tasks: Tasks;
  readonly instance: string;
  readonly logger: Logger;
}

/** A check of a session that is in progress. */
export interface SessionCheck {
  readonly id: SessionId;
  /** Calls that ended since the check began: the stream that it has read may still show them as open. */
  readonly ended: Set<string>;
}

interface SessionInFlight {
  loaded: Loaded;
  /** By call id: aborted when nobody waits for the call's result any more. */
  readonly calls: Map<string, AbortController>;
}

/**
 * The tool calls that this watcher carries out.
 *
 *   started --lease taken--> in flight --carried out--> its result is appended
 *                            in flight --nobody waits for it any more--> ended, without a result
 *                            in flight --this watcher dies--> its files stay; the next watcher takes it again
 */
export class CallsInFlight {
  readonly #deps: CallsInFlightDeps;
  readonly #sessions = new Map<SessionId, SessionInFlight>();
  readonly #checks = new Set<SessionCheck>();

  constructor(deps: CallsInFlightDeps) {
    this.#deps = deps;
  }

  /** The sessions that have calls in flight. */
  get sessions(): SessionId[] {
    return [...this.#sessions.keys()];
  }

  has(id: SessionId, callId: string): boolean {
    return this.#sessions.get(id)?.calls.has(callId) ?? false;
  }

  beginCheck(id: SessionId): SessionCheck {
    const check: SessionCheck = { id, ended: new Set() };
    this.#checks.add(check);
    return check;
  }

  endCheck(check: SessionCheck): void {
    this.#checks.delete(check);
  }

  /** Begins to carry out a call. False if it belongs to another watcher. */
  async take(check: SessionCheck, loaded: Loaded, call: OpenCall): Promise<boolean> {
    const { affinity, tasks } = this.#deps;
    const { id } = loaded;
    const { callId } = call;
    const { whose, now } = await affinity.claim(id, call.startedAt);
    if (whose === 'theirs') return false;
    // Another check took the call meanwhile, and its result is in the log. Taken again, it would be carried out twice,
    // since its files are gone (C14; found by the chaos, seed 11: Postgres was frozen between the check and the claim).
    if (check.ended.has(callId)) return true;
    if (this.has(id, callId) || tasks.signal.aborted) return true;
    this.#noteTaken(id, callId);
    const stop = this.#add(loaded, callId);
    const mayBegin = whose === 'ours' || this.#hasFiles(id, callId);
    tasks.run(
      this.#carryOut(
        { ...call, sessionId: id, loaded, takenUpAt: now, stop, signal: tasks.signal },
        mayBegin,
      ).finally(() => this.#remove(id, callId)),
    );
    return true;
  }

  /** Ends the calls that nobody waits for any more. The reads of many sessions are one query. */
  async refresh(ids: readonly SessionId[]): Promise<void> {
    await Promise.all(
      ids.map(async (id) => {
        const session = this.#sessions.get(id);
        if (session === undefined) return;
        session.loaded = await this.#deps.sessions.refresh(session.loaded);
        const open = new Set(openCalls(session.loaded).map(({ callId }) => callId));
        for (const [callId, stop] of session.calls) if (!open.has(callId)) stop.abort();
      }),
    );
  }

  #add(loaded: Loaded, callId: string): AbortSignal {
    const session = this.#sessions.get(loaded.id) ?? { loaded, calls: new Map() };
    const stop = new AbortController();
    session.calls.set(callId, stop);
    this.#sessions.set(loaded.id, session);
    return stop.signal;
  }

  #remove(id: SessionId, callId: string): void {
    for (const check of this.#checks) if (check.id === id) check.ended.add(callId);
    const calls = this.#sessions.get(id)?.calls;
    calls?.delete(callId);
    if (calls !== undefined && calls.size > 0) return;
    this.#sessions.delete(id);
    this.#deps.affinity.release(id);
  }

  #noteTaken(id: SessionId, callId: string): void {
    try {
      this.#deps.directories.noteCallTaken(id, callId);
    } catch (error) {
      // The disk is full. The watcher that starts after us learns of this call from the sweep.
      this.#deps.logger.warn({ err: error, session_id: id }, 'a call in flight could not be noted on disk');
    }
  }

  #hasFiles(id: SessionId, callId: string): boolean {
    const { commands } = this.#deps;
    return (
      commands.wasStarted(id, foregroundName(callId)) || commands.wasStarted(id, processIdOf(id, callId))
    );
  }

  async #carryOut(call: Call, mayBegin: boolean): Promise<void> {
    await withSpan(
      () => ({
        name: `carry out ${call.tool}`,
        attributes: { 'gen_ai.tool.call.id': call.callId, [SESSION_ID]: call.sessionId },
        parent: call.traceparent,
      }),
      async () => {
        const result = mayBegin ? await this.#run(call) : BEGUN_ELSEWHERE;
        if (result !== null) await this.#finish(call, result);
        this.#deps.directories.noteCallOver(call.sessionId, call.callId);
      },
    );
  }

  async #run(call: Call): Promise<CallResult | null> {
    // A call keeps the config that it began with.
    const deps = { ...this.#deps, config: this.#deps.config.current };
    if (call.tool !== agentTools.command) {
      const refusal = approvalRefusal(call);
      if (refusal !== null) return failed(refusal);
    }
    const { conversationId } = call.loaded.state.created ?? {};
    try {
      this.#deps.directories.joinConversation(call.sessionId, sessionId(conversationId ?? call.sessionId));
    } catch (error) {
      return failed(`the files of the session cannot be created: ${(error as Error).message}`);
    }
    return retryUntilDone(call.signal, async () => {
      const misplaced = await this.#placeReceived(call);
      switch (call.tool) {
        case 'terminal':
          return withMisplaced(await terminalTool(call, deps), misplaced);
        case 'process':
          return processTool(call, deps);
        case agentTools.command:
          // The model would not learn about them in any other way.
          return misplaced.length > 0 ? failed(missingFiles(misplaced)) : commandAgent(call, deps);
        default:
          return failed(`there is no tool ${call.tool}`);
      }
    });
  }

  async #placeReceived({ sessionId, loaded }: Call): Promise<readonly Misplaced[]> {
    const misplaced = await this.#deps.commands.placeReceived(loaded);
    if (misplaced.length > 0) {
      this.#deps.logger.warn({ session_id: sessionId, misplaced }, 'files of messages could not be written');
    }
    return misplaced;
  }

  async #finish(call: Call, result: CallResult): Promise<void> {
    const { sessions, instance, logger } = this.#deps;
    const { sessionId, callId } = call;
    const finish: SessionCommand = {
      type: 'finish-tool',
      generation: null,
      callId,
      outcome: result.outcome,
      result: result.result,
      watcher: instance,
    };
    const executed = await retryUntilDone(call.signal, () =>
      sessions.execute(sessionId, ({ state }) => decideAll(state, [...(result.also ?? []), finish])),
    );
    if (executed.status !== 'refused') return result.recorded?.();
    logger.debug(
      { session_id: sessionId, call: callId, reason: executed.reason },
      'nobody waits for this result any more',
    );
    await (result.refused?.() ?? result.recorded?.());
  }
}

function missingFiles(misplaced: readonly Misplaced[]): string {
  const each = misplaced.map(({ path, why }) => `${path} (${why})`);
  return `files of the conversation could not be put into the working directory: ${each.join(', ')}`;
}

/** Every command of the session hears of it, until they are there. */
function withMisplaced(result: CallResult | null, misplaced: readonly Misplaced[]): CallResult | null {
  if (result === null || misplaced.length === 0) return result;
  const said = JSON.parse(result.result) as object;
  return { ...result, result: JSON.stringify({ ...said, missing_files: missingFiles(misplaced) }) };
}

/** Another watcher may have started the call, and is gone with its files (C14). */
const BEGUN_ELSEWHERE: CallResult = {
  outcome: 'unknown',
  result: JSON.stringify({
    error: 'the host that started this is gone, and it is not known whether it was carried out',
  }),
};

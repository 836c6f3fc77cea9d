import { setTimeout as pause } from 'node:timers/promises';
import { readSkill, SkillUnavailable, scrubber } from '@angelia/config';
import type { CommandAgentConfig, EventData } from '@angelia/contracts';
import { storable } from '@angelia/event-log';
import { conversation, decide, programPrompt } from '@angelia/session';
import type { Sessions } from '@angelia/sessions';
import { limitReached } from '../commands/limit-reason.ts';
import { untilDone } from '../retry-until-done.ts';
import { foregroundName } from '../session-directories.ts';
import {
  type ForegroundEnd,
  foregroundErrors,
  foregroundOutputFrom,
  runForeground,
} from './foreground-command.ts';
import { StatusLines } from './status-lines.ts';
import type { ToolDeps } from './terminal-tool.ts';
import { type Call, type CallEnd, failed, ok } from './tool-call.ts';

export interface AgentDeps extends ToolDeps {
  readonly sessions: Pick<Sessions, 'execute'>;
}

/** Between two looks at what the program has printed: a status is for people. */
const READ_MS = 250;
const READ_BYTES = 262_144;
/** Until there is room for one more command on this host. */
const ROOM_MS = 250;
/** Of one status; of the words of a program that failed, for the operator. */
const LONGEST_STATUS = 2_000;
const LONGEST_ERROR = 2_000;
/** What a program may say of itself during one turn: beyond this it is talking, not reporting. */
const MOST_STATUSES = 200;

/**
 * A program is the agent: its prompt comes by stdin, its stdout is the answer, lines of it that begin with the
 * agent's `status_prefix` are interim statuses, and its exit code says whether it did it. Like every command it is
 * started once and outlives this watcher; what a predecessor had said already is in the log, and not said again.
 */
export async function agentCommand(call: Call, deps: AgentDeps): Promise<CallEnd | null> {
  const { sessionId, callId } = call;
  const agent = agentOf(call, deps);
  if (agent === null) return failed('the agent of this session is no program in the config (any more)');
  const prompt = promptOf(call, deps);
  if (!prompt.ok) return failed(prompt.reason);
  const name = foregroundName(callId);
  if (!(await untilRoom(call, deps, name))) return null;

  const scrub = scrubber(Object.values(agent.env));
  const tooLong = new AbortController();
  const reader = new OutputReader(call, agent, deps, scrub, tooLong);
  const { created } = call.loaded.state;
  const running = runForeground(
    {
      sessionId,
      callId,
      argv: agent.command,
      cwd: agent.cwd,
      stdin: prompt.text,
      environment: { ...agent.env, ANGELIA_ROUTE: created?.route ?? '', ANGELIA_TURN: String(turnOf(call)) },
      timeoutSeconds: agent.timeout_seconds,
      separateErrors: true,
      // At least half of it can be read: all of what is allowed, and what shows that it is more.
      keepBytes: 2 * (agent.max_output_bytes + READ_BYTES),
    },
    deps.commands,
    { stop: AbortSignal.any([call.stop, tooLong.signal]), signal: call.signal },
  );
  const end = await reader.alongside(running);
  const recorded = (): void => deps.commands.forget(sessionId, name);
  if (call.stop.aborted) {
    recorded();
    return null;
  }
  if (tooLong.signal.aborted) {
    return failed(`the program printed more than ${agent.max_output_bytes} bytes (max_output_bytes)`, {
      recorded,
    });
  }
  return endOf(end, agent, deps, () => ({
    text: storable(scrub(reader.answer)),
    errors: scrub(foregroundErrors(call, deps.commands, LONGEST_ERROR)).trim(),
    recorded,
  }));
}

function endOf(
  end: ForegroundEnd,
  agent: CommandAgentConfig,
  { config }: AgentDeps,
  printed: () => { readonly text: string; readonly errors: string; readonly recorded: () => void },
): CallEnd | null {
  const { text, errors, recorded } = printed();
  switch (end.kind) {
    case 'stopped':
      return null;
    case 'not_started':
      return failed(`the program could not be started: ${end.reason}`, { recorded });
    case 'lost':
      return {
        outcome: 'unknown',
        result: JSON.stringify({ error: `the program was begun, but ${end.reason}` }),
        recorded,
      };
    case 'ended': {
      if (end.exitCode === 0 && !end.timedOut && !end.overMemory) return ok({ text }, { recorded });
      const how = end.timedOut
        ? `took longer than ${agent.timeout_seconds} s (timeout_seconds)`
        : end.overMemory
          ? `was ended, as ${limitReached('memory', config.process_watcher)}`
          : end.exitCode === null
            ? `was ended by ${end.signal}`
            : `ended with exit code ${end.exitCode}`;
      return failed(`the program ${how}${errors === '' ? '' : `: ${errors}`}`, { recorded });
    }
  }
}

/** Reads along while the program runs: says its statuses, keeps its answer, and notices when it is too long. */
class OutputReader {
  readonly #call: Call;
  readonly #agent: CommandAgentConfig;
  readonly #deps: AgentDeps;
  readonly #scrub: (text: string) => string;
  readonly #tooLong: AbortController;
  readonly #lines: StatusLines;
  #from = 0;
  /** Recorded before this watcher took the call up: they come by again, as the output is read from its beginning. */
  #known: number;
  #seen = 0;
  /** Not recorded yet: no run is open, or the log is away. In order. */
  #waiting: string[] = [];

  constructor(
    call: Call,
    agent: CommandAgentConfig,
    deps: AgentDeps,
    scrub: (text: string) => string,
    tooLong: AbortController,
  ) {
    this.#call = call;
    this.#agent = agent;
    this.#deps = deps;
    this.#scrub = scrub;
    this.#tooLong = tooLong;
    this.#lines = new StatusLines(agent.status_prefix);
    this.#known = saidBefore(call);
  }

  get answer(): string {
    return this.#lines.answer;
  }

  async alongside(running: Promise<ForegroundEnd>): Promise<ForegroundEnd> {
    let over = false;
    const ended = running.finally(() => {
      over = true;
    });
    while (!over) {
      await Promise.race([ended.then(nothing, nothing), pause(READ_MS)]);
      this.#read();
      if (!over) await this.#say().catch(nothing);
    }
    const end = await ended;
    while (this.#read() > 0);
    this.#take(this.#lines.end());
    // The answer follows: this is the last chance to say something before it.
    await untilDone(this.#call.signal, () => this.#say());
    return end;
  }

  /** How many bytes there were. */
  #read(): number {
    const { bytes, next, end } = foregroundOutputFrom(
      this.#call,
      this.#deps.commands,
      this.#from,
      READ_BYTES,
    );
    this.#from = next;
    if (end > this.#agent.max_output_bytes) {
      this.#tooLong.abort();
      return 0;
    }
    this.#take(this.#lines.feed(bytes));
    return bytes.length;
  }

  #take(statuses: readonly string[]): void {
    for (const status of statuses) {
      this.#seen += 1;
      if (this.#seen > this.#known && this.#seen <= MOST_STATUSES) this.#waiting.push(status);
    }
  }

  async #say(): Promise<void> {
    for (let status = this.#waiting[0]; status !== undefined; status = this.#waiting[0]) {
      if (!(await this.#record(storable(this.#scrub(status).slice(0, LONGEST_STATUS))))) return;
      this.#waiting.shift();
    }
  }

  /** False: no run is open that could say it. */
  async #record(text: string): Promise<boolean> {
    const { sessionId } = this.#call;
    const turn = turnOf(this.#call);
    const executed = await this.#deps.sessions.execute(sessionId, ({ state }) => {
      const { run } = state;
      if (run === null || run.turn !== turn) return null;
      return decide(state, {
        type: 'interim-status',
        generation: run.generation,
        sequence: run.statuses + 1,
        kind: 'agent',
        text,
      });
    });
    return executed.status === 'appended';
  }
}

const nothing = (): void => {};

/** The agent's own statuses of this turn, as of when the call was taken up. */
function saidBefore(call: Call): number {
  const turn = turnOf(call);
  return call.loaded.events.filter(({ type, data }) => {
    if (type !== 'session.interim-status') return false;
    const status = data as EventData<'session.interim-status'>;
    return status.turn === turn && status.kind === 'agent';
  }).length;
}

function turnOf({ loaded }: Call): number {
  return loaded.state.turns[0]?.turn ?? 0;
}

function agentOf({ loaded }: Call, { config }: AgentDeps): CommandAgentConfig | null {
  const name = loaded.state.created?.agent ?? '';
  const agent = Object.hasOwn(config.agents, name) ? config.agents[name] : undefined;
  return agent?.kind === 'command' ? agent : null;
}

function promptOf(
  { loaded }: Call,
  { config }: AgentDeps,
): { readonly ok: true; readonly text: string } | { readonly ok: false; readonly reason: string } {
  try {
    const skills = (loaded.state.created?.skills ?? []).map((name) =>
      readSkill(config.directories.skills, name),
    );
    return { ok: true, text: programPrompt(conversation(loaded.events), skills) };
  } catch (error) {
    if (error instanceof SkillUnavailable) return { ok: false, reason: error.message };
    throw error;
  }
}

/** An agent waits for its turn on a full host: its run waits with it, up to its time limit. False: nobody waits any more. */
async function untilRoom({ sessionId, stop, signal }: Call, { commands }: AgentDeps, name: string) {
  while (commands.isFull && !commands.wasBegun(sessionId, name)) {
    signal.throwIfAborted();
    if (stop.aborted) return false;
    await pause(ROOM_MS);
  }
  return true;
}

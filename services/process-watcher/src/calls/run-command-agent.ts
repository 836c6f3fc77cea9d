import { readSkill, SkillUnavailable, scrubber, secretEnvironmentOf } from '@angelia/config';
import type { CommandAgentConfig, EventData } from '@angelia/contracts';
import { toStorable } from '@angelia/event-log';
import { conversation, decide, programPrompt } from '@angelia/session';
import type { Sessions } from '@angelia/sessions';
import { pause } from '@angelia/waiting';
import { safeDirectoryEnvironment } from '../commands/git-environment.ts';
import { limitReason } from '../commands/limit-reason.ts';
import { NOT_STARTED } from '../isolation/limits.ts';
import { retryUntilDone } from '../retry-until-done.ts';
import { foregroundName } from '../session-directories.ts';
import { hintFor } from './failure-hints.ts';
import {
  type ForegroundEnd,
  foregroundErrors,
  foregroundOutputFrom,
  runForeground,
} from './foreground-command.ts';
import { StatusLines } from './status-lines.ts';
import {
  type Call,
  type CallResult,
  failed,
  ok,
  outOfTime,
  type ToolDeps,
  unknownOutcome,
} from './tool-call.ts';

interface CommandAgentDeps extends ToolDeps {
  readonly sessions: Pick<Sessions, 'execute'>;
}

/** Between two reads of what the program has printed. People read the statuses, so this need not be shorter. */
const READ_MS = 250;
const READ_BYTES = 262_144;
/** Between two checks whether the host has capacity for one more command. */
const CAPACITY_MS = 250;
/** Characters of one status. */
const LONGEST_STATUS = 2_000;
/** Bytes that are kept of the end of stdout and of stderr when the program failed. A stack trace is some 2,000 long. */
const LONGEST_END = 2_000;
/** If the host was full until the time of the run was up. */
const SHORTEST_SECONDS = 0.1;
/** How many statuses of one turn are recorded. A program that prints more is not reporting any more. */
const MOST_STATUSES = 200;

/**
 * Runs a program that is the agent. It reads the prompt from stdin, its stdout is the answer, lines of it that begin with
 * the agent's `status_prefix` are interim statuses, and its exit code says whether it succeeded. Like every command it is
 * started once and outlives this watcher. Statuses that a previous watcher recorded are in the log and are not repeated.
 */
export async function commandAgent(call: Call, deps: CommandAgentDeps): Promise<CallResult | null> {
  const { sessionId, callId } = call;
  const agent = agentOf(call, deps);
  if (agent === null)
    return failed('the agent of this session is not (or no longer) a program in the config');
  const prompt = promptOf(call, agent, deps);
  if (!prompt.ok) return failed(prompt.reason);
  const name = foregroundName(callId);
  const waitsSince = performance.now();
  if (!(await waitForCapacity(call, deps, name))) return null;
  const waitedSeconds = (performance.now() - waitsSince) / 1000;

  const scrub = scrubber(secretEnvironmentOf(agent));
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
      environment: {
        ...agent.env,
        ...safeDirectoryEnvironment(agent.cwd, agent.env),
        ANGELIA_ROUTE: created?.route ?? '',
        ANGELIA_TURN: String(turnOf(call)),
      },
      sharedDirectories: agent.shared_dirs,
      // The limit is for the whole run, and the run waits only a little longer for the report of a program that is ended.
      timeoutSeconds: Math.max(agent.timeout_seconds - waitedSeconds, SHORTEST_SECONDS),
      separateErrors: true,
      // At least half of it can be read: all that is allowed, and enough to see that there is more.
      keepBytes: 2 * (agent.max_output_bytes + READ_BYTES),
    },
    deps.commands,
    { stop: AbortSignal.any([call.stop, tooLong.signal]), signal: call.signal },
  );
  const end = await reader.follow(running);
  await deps.commands.openShared(sessionId, agent.shared_dirs);
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
  return resultOf(end, agent, deps, () => ({
    text: toStorable(scrub(reader.answer)),
    ends: {
      stderr: endOf(scrub(foregroundErrors(call, deps.commands, 2 * LONGEST_END))),
      stdout: endOf(scrub(reader.answer)),
    },
    recorded,
  }));
}

/** Scrubbed before it is cut: half a secret would not be recognized. */
function endOf(text: string): string {
  return toStorable(text.slice(-LONGEST_END)).trim();
}

interface Ends {
  readonly stderr: string;
  readonly stdout: string;
}

/** For the operator: how the program ended, what mends that if it is known, and the end of what it printed. */
function failureOf(how: string, { stderr, stdout }: Ends): string {
  const hint = hintFor(`${stderr}\n${stdout}`);
  return [
    `the program ${how}${hint === null ? '' : `. ${hint}`}`,
    ...(stderr === '' ? [] : [`stderr: ${stderr}`]),
    ...(stdout === '' ? [] : [`stdout: ${stdout}`]),
  ].join('\n');
}

function resultOf(
  end: ForegroundEnd,
  agent: CommandAgentConfig,
  { config }: CommandAgentDeps,
  printed: () => { readonly text: string; readonly ends: Ends; readonly recorded: () => void },
): CallResult | null {
  const { text, ends, recorded } = printed();
  switch (end.kind) {
    case 'stopped':
      return null;
    case 'not_started':
      return failed(`the program could not be started: ${end.reason}`, { recorded });
    case 'lost':
      return unknownOutcome(`the program was started, but ${end.reason}`, { recorded });
    case 'ended': {
      if (end.exitCode === 0 && !end.timedOut && !end.overMemory) return ok({ text }, { recorded });
      const how = end.timedOut
        ? `took longer than ${agent.timeout_seconds} s (timeout_seconds)`
        : end.overMemory
          ? `was ended, as ${limitReason('memory', config.process_watcher)}`
          : end.exitCode === null
            ? `was ended by ${end.signal}`
            : `ended with exit code ${end.exitCode}`;
      // Our own line: the program never ran (isolation/limits.ts).
      if (end.exitCode === 127 && ends.stderr.startsWith(NOT_STARTED)) {
        return failed(`the program could not be started: ${ends.stderr.slice(NOT_STARTED.length)}`, {
          recorded,
        });
      }
      const error = failureOf(how, ends);
      return end.timedOut ? outOfTime(error, { recorded }) : failed(error, { recorded });
    }
  }
}

/** Follows the output while the program runs: records its statuses, keeps its answer, and notices when it is too long. */
class OutputReader {
  readonly #call: Call;
  readonly #agent: CommandAgentConfig;
  readonly #deps: CommandAgentDeps;
  readonly #scrub: (text: string) => string;
  readonly #tooLong: AbortController;
  readonly #lines: StatusLines;
  #from = 0;
  /** Statuses that were recorded before this watcher took the call. They come again, as the output is read from its start. */
  readonly #known: number;
  #seen = 0;
  /** Not recorded yet, because no run is open or the log is down. In order. */
  #waiting: string[] = [];

  constructor(
    call: Call,
    agent: CommandAgentConfig,
    deps: CommandAgentDeps,
    scrub: (text: string) => string,
    tooLong: AbortController,
  ) {
    this.#call = call;
    this.#agent = agent;
    this.#deps = deps;
    this.#scrub = scrub;
    this.#tooLong = tooLong;
    this.#lines = new StatusLines(agent.status_prefix);
    this.#known = recordedBefore(call);
  }

  get answer(): string {
    return this.#lines.answer;
  }

  async follow(running: Promise<ForegroundEnd>): Promise<ForegroundEnd> {
    let over = false;
    const ended = running.finally(() => {
      over = true;
    });
    while (!over) {
      await Promise.race([ended.then(nothing, nothing), pause(READ_MS)]);
      this.#read();
      if (!over) await this.#recordStatuses().catch(nothing);
    }
    const end = await ended;
    while (this.#read() > 0);
    this.#take(this.#lines.end());
    // The answer comes next, and no status may follow it.
    await retryUntilDone(this.#call.signal, () => this.#recordStatuses());
    return end;
  }

  /** Returns how many bytes it read. */
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

  async #recordStatuses(): Promise<void> {
    for (let status = this.#waiting[0]; status !== undefined; status = this.#waiting[0]) {
      if (!(await this.#record(toStorable(this.#scrub(status).slice(0, LONGEST_STATUS))))) return;
      this.#waiting.shift();
    }
  }

  /** False if no run of this turn is open. */
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

/** How many statuses of the agent's own this turn had when the call was taken. */
function recordedBefore(call: Call): number {
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

function agentOf({ loaded }: Call, { config }: CommandAgentDeps): CommandAgentConfig | null {
  const name = loaded.state.created?.agent ?? '';
  const agent = Object.hasOwn(config.agents, name) ? config.agents[name] : undefined;
  return agent?.kind === 'command' ? agent : null;
}

function promptOf(
  { loaded }: Call,
  { send_history }: CommandAgentConfig,
  { config }: CommandAgentDeps,
): { readonly ok: true; readonly text: string } | { readonly ok: false; readonly reason: string } {
  try {
    const skills = (loaded.state.created?.skills ?? []).map((name) =>
      readSkill(config.directories.skills, name),
    );
    const said = conversation(loaded.events);
    const from = send_history ? 0 : said.findLastIndex(({ role }) => role === 'user');
    return { ok: true, text: programPrompt(said.slice(Math.max(0, from)), skills) };
  } catch (error) {
    if (error instanceof SkillUnavailable) return { ok: false, reason: error.message };
    throw error;
  }
}

/**
 * On a full host the agent waits, and its run waits with it, up to the run's time limit. False if nobody waits for the
 * result any more.
 */
async function waitForCapacity(
  { sessionId, stop, signal }: Call,
  { commands }: CommandAgentDeps,
  name: string,
) {
  while (commands.isFull && !commands.wasStarted(sessionId, name)) {
    signal.throwIfAborted();
    if (stop.aborted) return false;
    await pause(CAPACITY_MS);
  }
  return true;
}

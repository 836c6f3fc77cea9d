import type { SessionFact } from '@angelia/contracts';
import { decide, type SessionCommand } from '../src/decide.ts';
import { deliveryPlan } from '../src/deliveries/delivery-plan.ts';
import { evolve } from '../src/evolve.ts';
import { agenda } from '../src/recovery/agenda.ts';
import { type RecoveryPolicy, type RunLease, recover } from '../src/recovery/recover.ts';
import { initialState, type OpenCall, type SessionState, type StreamEvent } from '../src/state.ts';
import { agentCall, agentCallId, isAgentTool } from '../src/steps/agent-calls.ts';
import { pendingAnswer } from '../src/transcript/transcript.ts';
import { START, waitingCall } from './given-when-then.ts';
import { email, telegram } from './sample-facts.ts';

/**
 * The four services in miniature over the real domain: a log, leases, a bus that drops, doubles, delays and reorders,
 * workers that crash and freeze between any two of their steps, people who cancel, answer and write, and commands that
 * come again long after. Nothing here is timed or concurrent: a list of rolls says what happens next, so that every
 * history can be played again. Every decision goes through `decide` and `evolve` as in production.
 */
export interface Roll {
  readonly what: Happening;
  /** Which of those that it may happen to. */
  readonly which: number;
  /** 0 to 99: how it goes. */
  readonly luck: number;
  /** Milliseconds, where time passes. */
  readonly pause: number;
}

export type Happening =
  | 'hint'
  | 'work'
  | 'watch'
  | 'pass'
  | 'sweep'
  | 'crash'
  | 'freeze'
  | 'bus is emptied'
  | 'person'
  | 'again';

/** What a session is made with. */
export interface Setting {
  readonly fallback: boolean;
  readonly interim: 'message' | 'edit' | 'off';
  readonly deliverOnly: boolean;
  readonly startAfterMs: number | null;
  readonly queueMs: number | null;
  /** It begins as a runner leaves it that is killed while its call waits for the end of a process. */
  readonly leftWaiting: boolean;
}

/** One command, and what came of it. */
export interface Asked {
  readonly command: SessionCommand;
  readonly before: SessionState;
  readonly appended: readonly SessionFact[];
  readonly after: SessionState;
}

export interface History {
  readonly session: string;
  readonly events: readonly StreamEvent[];
  readonly asked: readonly Asked[];
  readonly state: SessionState;
  readonly now: number;
}

/** A message as it reached the platform: one part of an output. */
export interface Arrival {
  readonly session: string;
  readonly output: number;
  readonly via: string;
  readonly part: number;
  readonly possibleDuplicate: boolean;
}

export const policy: RecoveryPolicy = { freshnessSeconds: 600, maxAttempts: 3, maxInterruptionSeconds: 1200 };
const LEASE_MS = 20_000;
const CLAIM_SECONDS = 45;
const RETRY_MS = 5_000;
const QUESTION_MS = 60_000;
/** Longest life of a background process. */
const PROCESS_MS = 4_000;
const USAGE = { input_tokens: 3, output_tokens: 2 };

interface Stream {
  readonly events: StreamEvent[];
  readonly asked: Asked[];
  state: SessionState;
}

interface Hint {
  readonly to: 'run' | 'delivery';
  readonly session: string;
}

interface RunJob {
  readonly kind: 'run';
  readonly session: string;
  readonly generation: number;
  /** A call that was recorded as begun by this job and not carried out yet, or carried out and not recorded. */
  tool: { readonly callId: string; readonly done: boolean } | null;
}

interface SendJob {
  readonly kind: 'send';
  readonly session: string;
  readonly output: number;
  readonly attempt: number;
  readonly via: 'target' | 'fallback_target';
  /** The message that is next, of those that the output is cut into. */
  part: number;
  possibleDuplicate: boolean;
  until: number;
  sent: boolean;
}

/** On the watcher's host: goes on and ends whoever is there to see it. */
interface BackgroundProcess {
  readonly session: string;
  readonly processId: string;
  endsAt: number;
}

interface Worker {
  readonly role: 'run' | 'delivery';
  readonly name: string;
  incarnation: number;
  frozen: boolean;
  jobs: (RunJob | SendJob)[];
}

export class SimulatedSystem {
  readonly arrivals: Arrival[] = [];
  readonly carriedOut: { readonly session: string; readonly callId: string }[] = [];
  /** Whatever the domain refused: shows that the fences were met at all. */
  readonly refusals = new Set<string>();
  /** Takeovers of runs whose lease was alive. */
  liveRunsTaken = 0;
  private now = START;
  private readonly streams = new Map<string, Stream>();
  private readonly leases = new Map<string, RunLease>();
  private hints: Hint[] = [];
  private processes: BackgroundProcess[] = [];
  /** No more processes, failures and mistakes: each would be another turn. */
  private resting = false;
  private readonly workers: Worker[] = (['run', 'run', 'delivery', 'delivery'] as const).map((role, n) => ({
    role,
    name: `${role}-${n}`,
    incarnation: 1,
    frozen: false,
    jobs: [],
  }));
  private serial = 0;

  constructor(settings: readonly Setting[]) {
    for (const [n, setting] of settings.entries()) this.create(`s${n + 1}`, setting);
  }

  histories(): History[] {
    return [...this.streams].map(([session, { events, asked, state }]) => ({
      session,
      events: [...events],
      asked: [...asked],
      state,
      now: this.now,
    }));
  }

  happen(roll: Roll): void {
    const { which, luck, pause } = roll;
    const session = this.pick([...this.streams.keys()], which) ?? '';
    const anyone = this.pick(this.workers, which);
    const atWork = this.workers.filter(({ jobs }) => jobs.length > 0);
    const happenings: Readonly<Record<Happening, () => void>> = {
      hint: () => (this.hints.length > 0 ? this.deliverHint(roll) : this.sweep()),
      work: () => this.advance(this.pick(atWork, which), roll),
      watch: () => this.watch(session, luck),
      pass: () => this.pass(pause),
      sweep: () => this.sweep(),
      crash: () => this.crash(anyone),
      freeze: () => this.freeze(anyone),
      'bus is emptied': () => {
        this.hints = [];
      },
      person: () => this.person(session, roll),
      again: () => this.again(session, which),
    };
    happenings[roll.what]();
  }

  /** Everything is mended: as long as it takes, within a bound, until nothing is left to do. */
  comeToRest(): boolean {
    this.resting = true;
    const roll = { what: 'hint', which: 0, luck: 50, pause: 0 } as const;
    for (const worker of this.workers) this.crash(worker);
    for (let round = 0; round < 400; round += 1) {
      if ([...this.streams.values()].every(({ state }) => agenda(state).settled)) return true;
      this.pass(round % 10 === 9 ? QUESTION_MS : 2_000);
      this.sweep();
      for (const session of this.streams.keys()) for (const luck of [10, 90]) this.watch(session, luck);
      while (this.hints.length > 0) this.deliverHint(roll);
      for (let step = 0; step < 40 && this.workers.some(({ jobs }) => jobs.length > 0); step += 1) {
        const luck = 50 + ((step * 7) % 40);
        for (const worker of this.workers) this.advance(worker, { ...roll, which: step, luck });
      }
    }
    return false;
  }

  private create(session: string, setting: Setting): void {
    const { fallback, interim, deliverOnly, startAfterMs, queueMs } = setting;
    this.streams.set(session, { events: [], asked: [], state: initialState() });
    this.append(session, {
      type: 'create-session',
      route: 'r',
      event: null,
      deliveryId: session,
      title: 't',
      agent: 'a',
      deliver: telegram,
      fallbackTarget: fallback ? email : null,
      interim,
      deliverOnly: deliverOnly && !setting.leftWaiting,
      startAfter: startAfterMs === null ? null : this.now + startAfterMs,
      queueDeadline: queueMs === null ? null : this.now + queueMs,
      input: 'input 1',
    });
    this.hints.push({ to: 'run', session });
    if (!setting.leftWaiting) return;
    for (const command of waitingCall(this.now)) this.append(session, command);
    this.processes.push({ session, processId: 'proc_0', endsAt: this.now + PROCESS_MS });
  }

  private state(session: string): SessionState {
    return this.streams.get(session)?.state ?? initialState();
  }

  /** All of the commands or none, as one append; true: there is more in the log than before. */
  private append(session: string, ...commands: readonly SessionCommand[]): boolean {
    const stream = this.streams.get(session);
    if (stream === undefined) return false;
    let state = stream.state;
    const asked: Asked[] = [];
    const events: StreamEvent[] = [];
    for (const command of commands) {
      const before = state;
      const decision = decide(before, command);
      if (!decision.ok) {
        this.refusals.add(decision.code);
        stream.asked.push({ command, before: stream.state, appended: [], after: stream.state });
        return false;
      }
      for (const fact of decision.events) {
        const event = { ...fact, version: state.version + 1, recordedAt: this.now };
        state = evolve(state, event);
        events.push(event);
      }
      asked.push({ command, before, appended: decision.events, after: state });
    }
    stream.state = state;
    stream.events.push(...events);
    stream.asked.push(...asked);
    for (const { type } of events) {
      if (type === 'turn.requested' || type === 'run.interrupted' || type === 'clarification.answered') {
        this.hints.push({ to: 'run', session });
      }
      if (/^(session\.final-response|session\.interim-status|clarification\.requested)$/.test(type)) {
        this.hints.push({ to: 'delivery', session });
      }
    }
    return events.length > 0;
  }

  private deliverHint({ which, luck }: Roll): void {
    const hint = this.pick(this.hints, which);
    if (hint === undefined) return;
    // Doubled: it stays. Dropped: it goes, and nobody hears of it.
    if (luck >= 10) this.hints.splice(this.hints.indexOf(hint), 1);
    if (luck >= 90) return;
    const able = this.workers.filter((worker) => worker.role === hint.to && !worker.frozen);
    const worker = this.pick(able, which);
    if (worker === undefined || worker.jobs.some((job) => job.session === hint.session)) return;
    if (hint.to === 'run') this.claim(worker, hint.session);
    else this.attempt(worker, hint.session);
  }

  private claim(worker: Worker, session: string): void {
    const state = this.state(session);
    const verdict = recover(state, this.leases.get(session) ?? null, this.now, policy);
    if (verdict.action === 'expire') {
      const { reason, turn } = verdict;
      this.append(session, { type: 'expire', reason, turn, generation: state.generation });
    }
    if (verdict.action !== 'resume') return;
    const lease = this.leases.get(session);
    if (state.run !== null && lease !== undefined && lease.expiresAt > this.now) this.liveRunsTaken += 1;
    const generation = state.generation + 1;
    const { turn, resumed, attempt, takeover } = verdict;
    const runner = `${worker.name}#${worker.incarnation}`;
    if (!this.append(session, { type: 'start-run', generation, turn, runner, resumed, attempt, takeover }))
      return;
    this.leases.set(session, { holder: runner, expiresAt: this.now + LEASE_MS, renewedAt: this.now });
    worker.jobs.push({ kind: 'run', session, generation, tool: null });
  }

  private attempt(worker: Worker, session: string): void {
    const plan = deliveryPlan(this.state(session), this.now);
    if (plan.action === 'drop') {
      this.append(session, { type: 'drop-delivery', output: plan.output, now: this.now });
      return;
    }
    if (plan.action !== 'send') return;
    const { output, attempt, via, taken, possibleDuplicate } = plan;
    const claimed = this.append(session, {
      type: 'attempt-delivery',
      output,
      attempt,
      sender: `${worker.name}#${worker.incarnation}`,
      deadlineSeconds: CLAIM_SECONDS,
      now: this.now,
    });
    if (!claimed) return;
    const until = this.now + CLAIM_SECONDS * 1000;
    const part = taken + 1;
    worker.jobs.push({
      kind: 'send',
      session,
      output,
      attempt,
      via,
      part,
      possibleDuplicate,
      until,
      sent: false,
    });
  }

  private advance(worker: Worker | undefined, roll: Roll): void {
    const job = worker && this.pick(worker.jobs, roll.which);
    if (worker === undefined || job === undefined) return;
    // A thawed one goes on where it stood, as if no time had passed.
    worker.frozen = false;
    const goesOn = job.kind === 'run' ? this.step(job, roll) : this.send(job, roll.luck);
    if (goesOn) return;
    worker.jobs = worker.jobs.filter((other) => other !== job);
    this.hints.push({ to: job.kind === 'run' ? 'run' : 'delivery', session: job.session });
  }

  /** One step of a run; false: the job is over. */
  private step(job: RunJob, { which, luck }: Roll): boolean {
    const { session, generation } = job;
    if (job.tool !== null) return this.carryOut(job, job.tool, luck);
    if (luck >= 94 && !this.resting) {
      const command = this.pick(this.outOfPlace(job, luck), which);
      if (command !== undefined) this.append(session, command);
      return true;
    }
    const open = (this.state(session).turns[0]?.calls ?? []).filter(
      ({ status }) => status === 'asked' || status === 'started',
    );
    // What this run has under way comes first: a question would close the run around it.
    const call = open.find(({ startedIn }) => startedIn === generation) ?? this.pick(open, which);
    return call === undefined ? this.think(job, luck) : this.workOn(job, call, luck);
  }

  /** The call is carried out, then recorded: by the run, or by the watcher whose results outlive it. */
  private carryOut(job: RunJob, { callId, done }: NonNullable<RunJob['tool']>, luck: number): boolean {
    const { session, generation } = job;
    job.tool = done ? null : { callId, done: true };
    if (!done) {
      this.carriedOut.push({ session, callId });
      return true;
    }
    const by = luck % 2 === 0 ? generation : null;
    const begins = luck < 60 && !this.resting && !callId.startsWith('agent-');
    return this.append(session, ...(begins ? [this.begin(session, callId, luck)] : []), {
      type: 'finish-tool',
      generation: by,
      callId,
      outcome: 'ok',
      result: `result ${++this.serial}`,
    });
  }

  private workOn(job: RunJob, call: OpenCall, luck: number): boolean {
    const { session, generation } = job;
    const callId = call.id;
    if (call.status === 'started') {
      // The watcher's: waited for, and at last given up.
      if (call.tool === 'process' && luck < 75) return true;
      return this.append(session, {
        type: 'finish-tool',
        generation,
        callId,
        outcome: 'unknown',
        result: '?',
      });
    }
    if (call.tool === 'clarify') {
      this.append(session, this.question(generation, callId, luck));
      this.leases.delete(session);
      return false;
    }
    const args = call.tool === 'process' ? waitFor(this.state(session), luck) : '{}';
    const begun = this.append(session, {
      type: 'start-tool',
      generation,
      callId,
      tool: call.tool,
      arguments: args,
    });
    if (begun && call.tool === 'terminal') job.tool = { callId, done: false };
    return begun;
  }

  /** No call is open: the agent is called, the model goes on, says something, or ends its turn. */
  private think(job: RunJob, luck: number): boolean {
    const { session, generation } = job;
    const state = this.state(session);
    const turn = state.turns[0];
    const said = turn?.completing ? pendingAnswer(this.streams.get(session)?.events ?? []) : null;
    if (said !== null) return this.finish(job, { type: 'finish-turn', generation, text: said });
    if (turn !== undefined && agentCall(turn)?.status === 'done') {
      return this.finish(job, { type: 'finish-turn', generation, text: `agent ${++this.serial}` });
    }
    if (luck < 3)
      return this.finish(job, { type: 'fail-run', generation, code: 'x', message: 'm', text: 'f' });
    if (luck < 8) {
      const reason = luck % 2 === 0 ? 'drain' : 'infrastructure';
      return this.finish(job, { type: 'interrupt-run', generation, reason });
    }
    if (luck < 16) return this.append(session, this.status(generation, state));
    if (luck < 20) return this.append(session, this.compression(generation, state, luck));
    if (luck < 26 && turn?.step === 0) {
      const kind = luck % 2 === 0 ? 'command' : 'http';
      const begun = this.append(session, { type: 'start-agent', generation, kind, arguments: '{}' });
      if (begun) job.tool = { callId: agentCallId(turn.turn), done: false };
      return begun;
    }
    if (luck < 68) return this.append(session, this.response(generation, state, this.toolsFor(state, luck)));
    const answer = this.response(generation, state, []);
    if (luck < 75) return this.append(session, answer);
    const text = luck % 10 === 0 ? '[SILENT]' : answer.text;
    return this.finish(job, { ...answer, text }, { type: 'finish-turn', generation, text });
  }

  private toolsFor({ processes }: SessionState, luck: number): string[] {
    if (luck < 34 && !this.resting) return luck % 2 === 0 ? ['clarify'] : ['terminal', 'clarify'];
    // Only for what it does not know yet: nobody waits for the same end for ever.
    const waits = processes.some(({ consumed }) => !consumed) && (!this.resting || luck % 2 === 0);
    if (waits && luck < 52) return luck % 3 === 0 ? ['process', 'terminal'] : ['process'];
    return luck % 3 === 0 ? ['terminal', 'terminal'] : ['terminal'];
  }

  /** Of a runner with a bug: the domain has to bear it. */
  private outOfPlace({ session, generation }: RunJob, luck: number): SessionCommand[] {
    const state = this.state(session);
    const calls = state.turns[0]?.calls ?? [];
    return [
      ...calls.flatMap(({ id: callId, tool }): SessionCommand[] => [
        { type: 'start-tool', generation, callId, tool, arguments: waitFor(state, luck) },
        { type: 'finish-tool', generation, callId, outcome: 'ok', result: `result ${++this.serial}` },
        this.question(generation, callId, luck),
      ]),
      this.response(generation, state, ['terminal']),
      { ...this.response(generation, state, []), step: (state.turns[0]?.step ?? 0) + 2 },
      this.status(generation, state),
      this.compression(generation, state, luck),
      { type: 'start-agent', generation, kind: 'http', arguments: '{}' },
      { type: 'finish-turn', generation, text: `answer ${++this.serial}` },
    ];
  }

  private response(generation: number, state: SessionState, tools: readonly string[]) {
    const serial = ++this.serial;
    return {
      type: 'record-model-response' as const,
      generation,
      step: (state.turns[0]?.step ?? 0) + 1,
      model: 'main',
      text: `text ${serial}`,
      toolCalls: tools.map((name, i) => ({ id: `call-${serial}-${i}`, name, arguments: '{}' })),
      finishReason: 'stop',
      usage: USAGE,
    };
  }

  private question(generation: number, callId: string, luck: number): SessionCommand {
    return {
      type: 'request-clarification',
      generation,
      clarificationId: `q-${++this.serial}`,
      callId,
      question: '?',
      deadline: this.now + QUESTION_MS,
      onTimeout: luck % 2 === 0 ? 'end' : 'continue',
    };
  }

  private status(generation: number, { run }: SessionState): SessionCommand {
    const sequence = (run?.statuses ?? 0) + 1;
    return { type: 'interim-status', generation, sequence, kind: 'progress', text: `at it ${++this.serial}` };
  }

  private compression(generation: number, { run, version }: SessionState, luck: number): SessionCommand {
    return {
      type: 'compress-context',
      generation,
      sequence: (run?.compressions ?? 0) + 1,
      throughVersion: Math.max(0, version - (luck % 12)),
      summary: `summary ${++this.serial}`,
      input: luck % 3 === 0 ? 'shortened' : null,
      model: 'main',
      usage: USAGE,
    };
  }

  /** A background process for a call. */
  private begin(session: string, callId: string, luck: number): SessionCommand {
    const serial = ++this.serial;
    const processId = `proc_${serial}`;
    this.processes.push({ session, processId, endsAt: this.now + (PROCESS_MS * luck) / 60 });
    return {
      type: 'process-started',
      processId,
      callId,
      command: 'x',
      host: 'h',
      bootId: 'b',
      pid: serial,
      pidStartTime: '1',
      cwd: '/',
      notifyOnComplete: serial % 3 !== 0,
      watchPatterns: serial % 2 === 0 ? ['x'] : [],
      waitDeadline: this.now + 200_000,
    };
  }

  private finish(job: RunJob, ...commands: readonly SessionCommand[]): boolean {
    if (this.append(job.session, ...commands)) this.leases.delete(job.session);
    return false;
  }

  /** One message of an output, then what became of it; false: the job is over. */
  private send(job: SendJob, luck: number): boolean {
    const { session, output, attempt, via, part, possibleDuplicate } = job;
    if (!job.sent) {
      // The time left is looked at right before the request is written.
      if (this.now >= job.until) return false;
      job.sent = true;
      const unknown = luck < 5;
      if (luck >= 15 || (unknown && luck % 2 === 0)) {
        this.arrivals.push({ session, output, via, part, possibleDuplicate });
      }
      if (luck >= 15) return true;
      const fails = { output, attempt, reason: 'busy' };
      const counts = luck % 3 !== 0;
      if (luck >= 12) this.append(session, { type: 'give-up-delivery', ...fails, via });
      else
        this.append(session, {
          type: 'fail-delivery',
          ...fails,
          retryAt: this.now + RETRY_MS,
          counts,
          unknown,
        });
      return false;
    }
    const chunks = 1 + (output % 3);
    if (part >= chunks) {
      this.append(session, { type: 'succeed-delivery', output, attempt });
      return false;
    }
    const deadlineSeconds = CLAIM_SECONDS;
    Object.assign(job, { part: part + 1, possibleDuplicate: false, sent: false });
    job.until = this.now + deadlineSeconds * 1000;
    return this.append(session, {
      type: 'take-chunk',
      output,
      attempt,
      chunk: part,
      chunks,
      deadlineSeconds,
    });
  }

  /** The watcher looks at a session, or comes back after it was away: one thing at a time, in any order. */
  private watch(session: string, luck: number): void {
    const { turns, processes } = this.state(session);
    const running = processes.filter(({ status }) => status === 'running');
    const onHost = (id: string) =>
      this.processes.find((one) => one.session === session && one.processId === id);
    const lost = running.find(({ processId }) => onHost(processId) === undefined);
    const over = running.find(
      ({ processId, killRequested }) => killRequested || (onHost(processId)?.endsAt ?? 0) <= this.now,
    );
    const started = turns[0]?.calls.filter(({ status }) => status === 'started') ?? [];
    const wait = started.find(({ tool }) => tool === 'process');
    if (lost !== undefined) {
      this.append(session, { type: 'process-lost', processId: lost.processId, reason: 'gone' });
    } else if (over !== undefined && luck < 60) {
      this.append(session, {
        type: 'process-exited',
        processId: over.processId,
        exitCode: 0,
        signal: null,
        durationSeconds: 1,
        outputTail: '',
      });
    } else if (wait !== undefined && luck % 4 !== 0) {
      this.answerWait(session, wait, luck);
    } else if (!this.resting) {
      this.watchSomething(session, started, luck);
    }
  }

  private answerWait(session: string, { id: callId, waitsFor }: OpenCall, luck: number): void {
    const waited = this.state(session).processes.find(({ processId }) => processId === waitsFor);
    // Its time is up: it says that the process goes on, which may be no longer so when that gets into the log.
    const timeIsUp = luck >= 80;
    if (waited?.status === 'running' && !timeIsUp) return;
    const known: SessionCommand[] =
      waited === undefined || timeIsUp
        ? []
        : [{ type: 'consume-completion', processId: waited.processId, by: 'wait' }];
    this.append(session, ...known, {
      type: 'finish-tool',
      generation: null,
      callId,
      outcome: 'ok',
      result: '1',
    });
  }

  private watchSomething(session: string, started: readonly OpenCall[], luck: number): void {
    const { processes } = this.state(session);
    const process = this.pick(processes, luck >> 3);
    // A call whose run is gone: what it began and what came of it are recorded all the same.
    const call = started.find(({ tool }) => tool === 'terminal' || isAgentTool(tool));
    if (call !== undefined && luck % 2 === 0) {
      const [callId, outcome, result] = [call.id, 'ok', `watched ${++this.serial}`] as const;
      if (luck % 4 === 0) this.append(session, this.begin(session, callId, luck % 60));
      this.append(session, { type: 'finish-tool', generation: null, callId, outcome, result });
    } else if (process === undefined) {
      return;
    } else if (luck % 8 === 1) {
      // The host was started anew.
      this.processes = this.processes.filter(({ processId }) => processId !== process.processId);
    } else if (luck % 8 === 3) {
      this.append(session, { type: 'consume-completion', processId: process.processId, by: 'kill' });
    } else {
      this.append(session, {
        type: 'process-matched',
        processId: process.processId,
        match: process.matches + 1,
        pattern: 'x',
        line: 'x',
        overload: luck % 7 === 0,
      });
    }
  }

  /** Leases of workers that run are renewed; those of crashed and frozen ones run out. */
  private pass(ms: number): void {
    this.now += ms;
    for (const worker of this.workers) {
      if (worker.frozen) continue;
      worker.jobs = worker.jobs.filter((job) => {
        if (job.kind === 'send') return true;
        const lease = this.leases.get(job.session);
        const mine = lease?.holder === `${worker.name}#${worker.incarnation}`;
        // A pause longer than the lease: nobody renewed it in time. It gives up, and does not know who has it now.
        if (!mine || lease.expiresAt <= this.now) return !mine && job.tool !== null;
        this.leases.set(job.session, { ...lease, expiresAt: this.now + LEASE_MS, renewedAt: this.now });
        return true;
      });
    }
  }

  private sweep(): void {
    for (const [session, { state }] of this.streams) {
      const due = agenda(state);
      const orphaned = due.running && (this.leases.get(session)?.expiresAt ?? 0) <= this.now;
      if (orphaned || (due.run !== null && due.run <= this.now)) this.hints.push({ to: 'run', session });
      if (due.delivery !== null && due.delivery <= this.now) this.hints.push({ to: 'delivery', session });
    }
  }

  private crash(worker: Worker | undefined): void {
    if (worker === undefined) return;
    worker.jobs = [];
    worker.frozen = false;
    worker.incarnation += 1;
    // A service that starts again under its stable name frees what its dead predecessor held.
    for (const [session, lease] of this.leases) {
      if (lease.holder.startsWith(`${worker.name}#`)) this.leases.delete(session);
    }
  }

  private freeze(worker: Worker | undefined): void {
    if (worker !== undefined) worker.frozen = true;
  }

  private person(session: string, { which, luck }: Roll): void {
    const { clarification, outputs, processes } = this.state(session);
    const deliveryId = `d-${++this.serial}`;
    const [message, webhook] = [`message ${deliveryId}`, `webhook ${deliveryId}`];
    const dead = outputs.filter(({ status }) => status === 'dead');
    const wishes: SessionCommand[] = [
      {
        type: 'request-turn',
        source: 'message',
        input: message,
        deliveryId,
        supersede: luck % 2 === 0,
      },
      { type: 'request-turn', source: 'webhook', input: webhook, deliveryId, interrupt: luck < 30 },
      { type: 'coalesce-webhook', deliveryId, input: webhook, startAfter: this.now + 30_000 },
      ...dead.map(({ output }) => ({ type: 'retry-delivery' as const, output, by: 'api' })),
      ...processes.map(({ processId }) => ({ type: 'request-kill' as const, processId, by: 'api' })),
    ];
    const wish = this.pick(wishes, which >> 1);
    if (luck < 3) this.append(session, { type: 'cancel', by: 'api' });
    else if (clarification !== null && luck < 60) {
      const clarificationId = clarification.id;
      this.append(session, { type: 'answer-clarification', clarificationId, answer: 'yes', by: 'api' });
    } else if (wish !== undefined) this.append(session, wish);
  }

  /** A process that was frozen, a message that came twice, a request that was repeated. */
  private again(session: string, which: number): void {
    const old = this.pick(this.streams.get(session)?.asked ?? [], which >> 1);
    if (old !== undefined) this.append(session, old.command);
  }

  private pick<T>(from: readonly T[], which: number): T | undefined {
    return from.length === 0 ? undefined : from[which % from.length];
  }
}

/** What a call of `process` is begun with: most wait for a process of which the end is not known yet. */
function waitFor({ processes }: SessionState, luck: number): string {
  const unknown = processes.filter(({ consumed }) => !consumed);
  const process = (luck % 5 === 0 ? processes : unknown).at(-1);
  return JSON.stringify({ action: 'wait', process_id: process?.processId });
}

import type { SessionFact } from '@angelia/contracts';
import { permissionOf } from '../src/approvals/permission.ts';
import { decide, type SessionCommand } from '../src/decide.ts';
import { deliveryPlan } from '../src/deliveries/delivery-plan.ts';
import { updatePlan } from '../src/deliveries/update-plan.ts';
import { evolve } from '../src/evolve.ts';
import { agenda } from '../src/recovery/agenda.ts';
import { type RecoveryPolicy, type RunLease, recover } from '../src/recovery/recover.ts';
import { planPutOff, type RetryPolicy, type UnusableModel } from '../src/runs/put-off-plan.ts';
import {
  initialState,
  type OpenCall,
  type OpenTurn,
  openApproval,
  type SessionState,
  type StreamEvent,
} from '../src/state.ts';
import { agentCall, agentCallId, isAgentTool } from '../src/steps/agent-calls.ts';
import { pendingAnswer } from '../src/transcript/transcript.ts';
import { START, waitingCall } from './given-when-then.ts';
import { email, telegram } from './sample-facts.ts';

/**
 * The four services in miniature, on top of the real domain: a log, leases, a bus that drops, duplicates, delays and
 * reorders, workers that crash and freeze between any two steps, a model that is down now and then, people who cancel,
 * answer and write, and commands that are repeated much later. Nothing here is timed or concurrent: a list of rolls says what happens next, so every history
 * can be replayed. Every decision goes through `decide` and `evolve`, as in production.
 */
export interface Roll {
  readonly what: Happening;
  /** Selects one of the candidates that it may happen to. */
  readonly which: number;
  /** 0 to 99: decides how it turns out. */
  readonly luck: number;
  /** Milliseconds, if time passes. */
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
  | 'model'
  | 'person'
  | 'again';

/** How a session is created. */
export interface Setting {
  readonly fallback: boolean;
  readonly interim: 'message' | 'edit' | 'off';
  readonly deliverOnly: boolean;
  readonly startAfterMs: number | null;
  readonly queueMs: number | null;
  /** It begins in the state that a runner leaves when it is killed while a call waits for the end of a process. */
  readonly leftWaiting: boolean;
  /** Some commands need an approval, and some are denied. */
  readonly policy: boolean;
}

/** One command and its result. */
interface DecidedCommand {
  readonly command: SessionCommand;
  readonly before: SessionState;
  readonly appended: readonly SessionFact[];
  readonly after: SessionState;
}

export interface History {
  readonly session: string;
  readonly events: readonly StreamEvent[];
  readonly decided: readonly DecidedCommand[];
  readonly state: SessionState;
  readonly now: number;
}

/** A message that reached the platform: one part of an output. */
interface Arrival {
  readonly session: string;
  readonly output: number;
  readonly via: string;
  readonly part: number;
  readonly possibleDuplicate: boolean;
}

export const policy: RecoveryPolicy = { freshnessSeconds: 600, maxAttempts: 3, maxInterruptionSeconds: 1200 };
export const retry: RetryPolicy = { scheduleSeconds: [5, 30, 120], maxSeconds: 900 };
const LEASE_MS = 20_000;
const CLAIM_SECONDS = 45;
const RETRY_MS = 5_000;
const QUESTION_MS = 60_000;
const APPROVER = 'telegram:1';
export const toolPolicy = {
  policy: [
    { tool: 'term*', match: 'risky*', do: 'ask' as const },
    { tool: 'terminal', match: 'never *', do: 'deny' as const },
  ],
  approvers: [APPROVER],
  approval_expires_seconds: QUESTION_MS / 1000,
};
/** Longest life of a background process. */
const PROCESS_MS = 4_000;
const USAGE = { input_tokens: 3, output_tokens: 2 };

interface Stream {
  readonly events: StreamEvent[];
  readonly decided: DecidedCommand[];
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
  /** A call that this job recorded as started and has not carried out, or has carried out and not recorded. */
  tool: { readonly callId: string; readonly done: boolean } | null;
}

interface SendJob {
  readonly kind: 'send';
  readonly session: string;
  readonly output: number;
  readonly attempt: number;
  readonly via: 'target' | 'fallback_target';
  /** The next message of those that the output is split into. */
  part: number;
  possibleDuplicate: boolean;
  until: number;
  sent: boolean;
}

/** On the watcher's host. It ends by itself, whether or not somebody watches. */
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
  /** The codes of all refusals. Shows that the histories reach the guards at all. */
  readonly refusals = new Set<string>();
  /** Takeovers of runs whose lease was alive. */
  liveRunsTaken = 0;
  /** Runs that were started before their `retry_at`, because the model was back. */
  readonly early = new Set<string>();
  /** Why the model cannot be used now. */
  #outage: UnusableModel['reason'] | null = null;
  #now = START;
  readonly #streams = new Map<string, Stream>();
  /** What the model wrote, by call. */
  readonly #arguments = new Map<string, string>();
  readonly #leases = new Map<string, RunLease>();
  #hints: Hint[] = [];
  #processes: BackgroundProcess[] = [];
  /** From now on no processes, failures or mistakes: each would be another turn. */
  #resting = false;
  readonly #workers: Worker[] = (['run', 'run', 'delivery', 'delivery'] as const).map((role, n) => ({
    role,
    name: `${role}-${n}`,
    incarnation: 1,
    frozen: false,
    jobs: [],
  }));
  #serial = 0;

  constructor(settings: readonly Setting[]) {
    for (const [n, setting] of settings.entries()) this.#create(`s${n + 1}`, setting);
  }

  histories(): History[] {
    return [...this.#streams].map(([session, { events, decided, state }]) => ({
      session,
      events: [...events],
      decided: [...decided],
      state,
      now: this.#now,
    }));
  }

  happen(roll: Roll): void {
    const { which, luck, pause } = roll;
    const session = this.#pick([...this.#streams.keys()], which) ?? '';
    const anyone = this.#pick(this.#workers, which);
    const atWork = this.#workers.filter(({ jobs }) => jobs.length > 0);
    const happenings: Readonly<Record<Happening, () => void>> = {
      hint: () => (this.#hints.length > 0 ? this.#deliverHint(roll) : this.#sweep()),
      work: () => this.#advance(this.#pick(atWork, which), roll),
      watch: () => this.#watch(session, luck),
      pass: () => this.#pass(pause),
      sweep: () => this.#sweep(),
      crash: () => this.#crash(anyone),
      freeze: () => this.#freeze(anyone),
      'bus is emptied': () => {
        this.#hints = [];
      },
      model: () => {
        const reason = luck < 70 ? 'unavailable' : 'configuration';
        this.#outage = this.#outage === null ? reason : null;
      },
      person: () => this.#person(session, roll),
      again: () => this.#again(session, which),
    };
    happenings[roll.what]();
  }

  /** Everything works again. Runs until nothing is left to do, within a bound. */
  comeToRest(): boolean {
    this.#resting = true;
    this.#outage = null;
    const roll = { what: 'hint', which: 0, luck: 50, pause: 0 } as const;
    for (const worker of this.#workers) this.#crash(worker);
    for (let round = 0; round < 400; round += 1) {
      if ([...this.#streams.values()].every(({ state }) => agenda(state).settled)) return true;
      this.#pass(round % 10 === 9 ? QUESTION_MS : 2_000);
      this.#sweep();
      for (const session of this.#streams.keys()) for (const luck of [10, 90]) this.#watch(session, luck);
      while (this.#hints.length > 0) this.#deliverHint(roll);
      for (let step = 0; step < 40 && this.#workers.some(({ jobs }) => jobs.length > 0); step += 1) {
        const luck = 50 + ((step * 7) % 40);
        for (const worker of this.#workers) this.#advance(worker, { ...roll, which: step, luck });
      }
    }
    return false;
  }

  #create(session: string, setting: Setting): void {
    const { fallback, interim, deliverOnly, startAfterMs, queueMs } = setting;
    this.#streams.set(session, { events: [], decided: [], state: initialState() });
    this.#append(session, {
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
      startAfter: startAfterMs === null ? null : this.#now + startAfterMs,
      queueDeadline: queueMs === null ? null : this.#now + queueMs,
      input: 'input 1',
      tools: setting.policy ? toolPolicy : null,
    });
    this.#hints.push({ to: 'run', session });
    if (!setting.leftWaiting) return;
    for (const command of waitingCall(this.#now)) this.#append(session, command);
    this.#processes.push({ session, processId: 'proc_0', endsAt: this.#now + PROCESS_MS });
  }

  #state(session: string): SessionState {
    return this.#streams.get(session)?.state ?? initialState();
  }

  /** Appends all of the commands or none. Returns whether the log has grown. */
  #append(session: string, ...commands: readonly SessionCommand[]): boolean {
    const stream = this.#streams.get(session);
    if (stream === undefined) return false;
    let state = stream.state;
    const decided: DecidedCommand[] = [];
    const events: StreamEvent[] = [];
    for (const command of commands) {
      const before = state;
      const decision = decide(before, command);
      if (!decision.ok) {
        this.refusals.add(decision.code);
        stream.decided.push({ command, before: stream.state, appended: [], after: stream.state });
        return false;
      }
      for (const fact of decision.events) {
        const event = { ...fact, version: state.version + 1, recordedAt: this.#now };
        state = evolve(state, event);
        events.push(event);
      }
      decided.push({ command, before, appended: decision.events, after: state });
    }
    stream.state = state;
    stream.events.push(...events);
    stream.decided.push(...decided);
    for (const { type } of events) {
      if (
        type === 'turn.requested' ||
        /^(run\.interrupted|clarification\.answered|approval\.decided)$/.test(type)
      ) {
        this.#hints.push({ to: 'run', session });
      }
      if (
        /^(session\.final-response|session\.interim-status|clarification\.requested|approval\.requested)$/.test(
          type,
        )
      ) {
        this.#hints.push({ to: 'delivery', session });
      }
    }
    return events.length > 0;
  }

  #deliverHint(roll: Roll): void {
    const { which, luck } = roll;
    const hint = this.#pick(this.#hints, which);
    if (hint === undefined) return;
    // Duplicated: it stays. Dropped: it is removed, and nobody gets it.
    if (luck >= 10) this.#hints.splice(this.#hints.indexOf(hint), 1);
    if (luck >= 90) return;
    const able = this.#workers.filter((worker) => worker.role === hint.to && !worker.frozen);
    const worker = this.#pick(able, which);
    if (worker === undefined || worker.jobs.some((job) => job.session === hint.session)) return;
    if (hint.to === 'run') this.#claim(worker, hint.session, roll);
    else this.#attempt(worker, hint.session);
  }

  #claim(worker: Worker, session: string, { luck }: Roll): void {
    const state = this.#state(session);
    const modelIsBack = this.#outage === null && luck % 3 === 0;
    const lives = this.#leases.get(session) ?? null;
    const verdict = recover(state, lives, this.#now, { ...policy, modelIsBack });
    if (verdict.action === 'expire') {
      const { reason, turn } = verdict;
      this.#append(session, { type: 'expire', reason, turn, generation: state.generation });
    }
    if (verdict.action !== 'resume') return;
    const lease = this.#leases.get(session);
    if (state.run !== null && lease !== undefined && lease.expiresAt > this.#now) this.liveRunsTaken += 1;
    const generation = state.generation + 1;
    const { turn, resumed, attempt, takeover } = verdict;
    const runner = `${worker.name}#${worker.incarnation}`;
    const start = { type: 'start-run', generation, turn, runner, resumed, attempt, takeover } as const;
    if (modelIsBack) this.early.add(`${session} ${generation}`);
    // The circuit is open: put off without a run that anybody would have to hold.
    if (luck % 2 === 0 && state.turns[0]?.completing === false) {
      const later = this.#putOff(state.turns[0], 1, generation, luck);
      if (later !== null) {
        this.#append(session, start, ...later);
        return;
      }
    }
    if (!this.#append(session, start)) return;
    this.#leases.set(session, { holder: runner, expiresAt: this.#now + LEASE_MS, renewedAt: this.#now });
    worker.jobs.push({ kind: 'run', session, generation, tool: null });
  }

  /** Edits the message of a closed question. For some the first try fails. */
  #update(session: string): void {
    const plan = updatePlan(this.#state(session), this.#now);
    if (plan.action !== 'update') return;
    const { output, failures } = plan;
    const retryAt = this.#now + 60_000;
    this.#append(
      session,
      output % 2 === 0 && failures === 0
        ? { type: 'fail-update', output, failures, reason: 'down', retryAt, counts: true }
        : { type: 'finish-update', output, result: 'edited', reason: null },
    );
  }

  #attempt(worker: Worker, session: string): void {
    const plan = deliveryPlan(this.#state(session), this.#now);
    if (plan.action === 'drop') {
      this.#append(session, { type: 'drop-delivery', output: plan.output, now: this.#now });
      return;
    }
    if (plan.action !== 'send') {
      this.#update(session);
      return;
    }
    const { output, attempt, via, taken, possibleDuplicate } = plan;
    const claimed = this.#append(session, {
      type: 'attempt-delivery',
      output,
      attempt,
      sender: `${worker.name}#${worker.incarnation}`,
      deadlineSeconds: CLAIM_SECONDS,
      buttons: true,
      now: this.#now,
    });
    if (!claimed) return;
    const until = this.#now + CLAIM_SECONDS * 1000;
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

  #advance(worker: Worker | undefined, roll: Roll): void {
    const job = worker && this.#pick(worker.jobs, roll.which);
    if (worker === undefined || job === undefined) return;
    // A thawed worker continues where it was, as if no time had passed.
    worker.frozen = false;
    const goesOn = job.kind === 'run' ? this.#step(job, roll) : this.#send(job, roll.luck);
    if (goesOn) return;
    worker.jobs = worker.jobs.filter((other) => other !== job);
    this.#hints.push({ to: job.kind === 'run' ? 'run' : 'delivery', session: job.session });
  }

  /** One step of a run. Returns false if the job is over. */
  #step(job: RunJob, { which, luck }: Roll): boolean {
    const { session, generation } = job;
    if (job.tool !== null) return this.#carryOut(job, job.tool, luck);
    if (luck >= 94 && !this.#resting) {
      const command = this.#pick(this.#outOfPlace(job, luck), which);
      if (command !== undefined) this.#append(session, command);
      return true;
    }
    const open = (this.#state(session).turns[0]?.calls ?? []).filter(
      ({ status }) => status === 'asked' || status === 'started',
    );
    // Calls in flight come first: a question would close the run around them.
    const call = open.find(({ startedIn }) => startedIn === generation) ?? this.#pick(open, which);
    return call === undefined ? this.#think(job, luck) : this.#workOn(job, call, luck);
  }

  /** Carries out the call, then records it: as the run, or as the watcher, whose results outlive the run. */
  #carryOut(job: RunJob, { callId, done }: NonNullable<RunJob['tool']>, luck: number): boolean {
    const { session, generation } = job;
    job.tool = done ? null : { callId, done: true };
    if (!done) {
      this.carriedOut.push({ session, callId });
      return true;
    }
    const by = luck % 2 === 0 ? generation : null;
    const begins = luck < 60 && !this.#resting && !callId.startsWith('agent-');
    return this.#append(session, ...(begins ? [this.#begin(session, callId, luck)] : []), {
      type: 'finish-tool',
      generation: by,
      callId,
      outcome: 'ok',
      result: `result ${++this.#serial}`,
    });
  }

  #workOn(job: RunJob, call: OpenCall, luck: number): boolean {
    const { session, generation } = job;
    const callId = call.id;
    if (call.status === 'started') {
      // The watcher carries it out. The run waits for it and gives up at last.
      if (call.tool === 'process' && luck < 75) return true;
      return this.#append(session, {
        type: 'finish-tool',
        generation,
        callId,
        outcome: 'unknown',
        result: '?',
      });
    }
    if (call.tool === 'clarify') {
      this.#append(session, this.#question(generation, callId, luck));
      this.#leases.delete(session);
      return false;
    }
    const state = this.#state(session);
    const args = call.tool === 'process' ? waitFor(state, luck) : (this.#arguments.get(callId) ?? '{}');
    const permission = permissionOf(state, { callId, tool: call.tool, arguments: args });
    if (permission.kind === 'denied') {
      return this.#append(session, {
        type: 'finish-tool',
        generation,
        callId,
        outcome: 'error',
        result: 'no',
      });
    }
    if (permission.kind === 'ask') {
      this.#append(session, this.#approvalRequest(session, generation, callId, args));
      this.#leases.delete(session);
      return false;
    }
    const begun = this.#append(session, {
      type: 'start-tool',
      generation,
      callId,
      tool: call.tool,
      arguments: args,
    });
    if (begun && call.tool === 'terminal') job.tool = { callId, done: false };
    return begun;
  }

  /** What follows if the model cannot be used. Null: it can, or the wait is over. */
  #putOff(
    turn: OpenTurn | undefined,
    sequence: number,
    generation: number,
    luck: number,
  ): SessionCommand[] | null {
    if (this.#outage === null || turn === undefined) return null;
    const retryAfterMs = luck % 5 === 0 ? luck * 1_000 : null;
    const failure = { code: 'x', message: 'm', called: true, retryAfterMs, pausedMs: (luck % 4) * 2_000 };
    const model = { model: 'main', reason: this.#outage, ...failure };
    const plan = planPutOff(turn, [model], this.#now, retry, luck / 100);
    if (plan.action === 'give-up') return null;
    const text = `later ${++this.#serial}`;
    return [
      ...(plan.tell
        ? [{ type: 'interim-status', generation, sequence, kind: 'waiting', text } as const]
        : []),
      { ...plan.command, generation },
    ];
  }

  /** No call is open: call the agent, or let the model go on, say something or end its turn. */
  #think(job: RunJob, luck: number): boolean {
    const { session, generation } = job;
    const state = this.#state(session);
    const turn = state.turns[0];
    const said = turn?.completing ? pendingAnswer(this.#streams.get(session)?.events ?? []) : null;
    if (said !== null) return this.#finish(job, { type: 'finish-turn', generation, text: said });
    if (turn !== undefined && agentCall(turn)?.status === 'done') {
      return this.#finish(job, { type: 'finish-turn', generation, text: `agent ${++this.#serial}` });
    }
    if (this.#outage !== null && luck < 90) {
      const later = this.#putOff(turn, (state.run?.statuses ?? 0) + 1, generation, luck);
      const failed = { code: 'models_failed', message: 'm', text: 'f' };
      return this.#finish(job, ...(later ?? [{ type: 'fail-run', generation, ...failed } as const]));
    }
    if (luck < 3)
      return this.#finish(job, { type: 'fail-run', generation, code: 'x', message: 'm', text: 'f' });
    if (luck < 8) {
      const reason = luck % 2 === 0 ? 'drain' : 'infrastructure';
      return this.#finish(job, { type: 'interrupt-run', generation, reason });
    }
    if (luck < 16) return this.#append(session, this.#status(generation, state));
    if (luck < 20) return this.#append(session, this.#compression(generation, state, luck));
    if (luck < 26 && turn?.step === 0) {
      const kind = luck % 2 === 0 ? 'command' : 'http';
      const begun = this.#append(session, { type: 'start-agent', generation, kind, arguments: '{}' });
      if (begun) job.tool = { callId: agentCallId(turn.turn), done: false };
      return begun;
    }
    if (luck < 68)
      return this.#append(session, this.#response(generation, state, this.#toolsFor(state, luck)));
    const answer = this.#response(generation, state, []);
    if (luck < 75) return this.#append(session, answer);
    const text = luck % 10 === 0 ? '[SILENT]' : answer.text;
    return this.#finish(job, { ...answer, text }, { type: 'finish-turn', generation, text });
  }

  #toolsFor({ processes }: SessionState, luck: number): string[] {
    if (luck < 34 && !this.#resting) return luck % 2 === 0 ? ['clarify'] : ['terminal', 'clarify'];
    // Only for ends that it does not know yet. Otherwise it would wait for the same end for ever.
    const waits = processes.some(({ consumed }) => !consumed) && (!this.#resting || luck % 2 === 0);
    if (waits && luck < 52) return luck % 3 === 0 ? ['process', 'terminal'] : ['process'];
    return luck % 3 === 0 ? ['terminal', 'terminal'] : ['terminal'];
  }

  /** Commands of a runner with a bug. The domain has to withstand them. */
  #outOfPlace({ session, generation }: RunJob, luck: number): SessionCommand[] {
    const state = this.#state(session);
    const calls = state.turns[0]?.calls ?? [];
    return [
      ...calls.flatMap(({ id: callId, tool }): SessionCommand[] => [
        { type: 'start-tool', generation, callId, tool, arguments: waitFor(state, luck) },
        { type: 'finish-tool', generation, callId, outcome: 'ok', result: `result ${++this.#serial}` },
        this.#question(generation, callId, luck),
        this.#approvalRequest(session, generation, callId, '{"command":"risky 9"}'),
        { type: 'start-tool', generation, callId, tool, arguments: '{"command":"risky 9"}' },
      ]),
      this.#response(generation, state, ['terminal']),
      { ...this.#response(generation, state, []), step: (state.turns[0]?.step ?? 0) + 2 },
      this.#status(generation, state),
      this.#compression(generation, state, luck),
      { type: 'start-agent', generation, kind: 'http', arguments: '{}' },
      { type: 'finish-turn', generation, text: `answer ${++this.#serial}` },
    ];
  }

  #response(generation: number, state: SessionState, tools: readonly string[]) {
    const serial = ++this.#serial;
    const written = (tool: string): string => {
      if (tool !== 'terminal' || this.#resting) return '{}';
      const command = ['ls', 'risky 1', 'risky 2', 'never 1'][serial % 4];
      return JSON.stringify({ command, background: false });
    };
    const toolCalls = tools.map((name, i) => ({
      id: `call-${serial}-${i}`,
      name,
      arguments: written(name),
    }));
    for (const { id, arguments: args } of toolCalls) this.#arguments.set(id, args);
    return {
      type: 'record-model-response' as const,
      generation,
      step: (state.turns[0]?.step ?? 0) + 1,
      model: 'main',
      text: `text ${serial}`,
      toolCalls,
      finishReason: 'stop',
      usage: USAGE,
    };
  }

  #question(generation: number, callId: string, luck: number): SessionCommand {
    return {
      type: 'request-clarification',
      generation,
      clarificationId: `q-${++this.#serial}`,
      callId,
      question: '?',
      deadline: this.#now + QUESTION_MS,
      onTimeout: luck % 2 === 0 ? 'end' : 'continue',
    };
  }

  #approvalRequest(session: string, generation: number, callId: string, args: string): SessionCommand {
    const approvalId = `${session}.${(this.#state(session).approvals ?? 0) + 1}`;
    return { type: 'request-approval', generation, approvalId, callId, tool: 'terminal', arguments: args };
  }

  /** Two people decide at once, one of whom may have been away for a while, have seen something else, or be a stranger. */
  #decideApproval(session: string, { which, luck }: Roll): void {
    const open = openApproval(this.#state(session));
    if (open === null) return;
    const decision = luck % 3 === 0 ? 'deny' : 'approve';
    const one: SessionCommand = {
      type: 'decide-approval',
      approvalId: open.id,
      decision,
      scope: luck % 2 === 0 ? 'session' : 'once',
      actor: which % 4 === 0 ? 'telegram:2' : APPROVER,
      way: which % 3 === 0 ? 'link' : 'chat',
      reason: null,
      digest: which % 5 === 0 ? 'another' : open.digest,
      now: this.#now,
    };
    this.#append(session, one);
    this.#append(session, { ...one, actor: 'api', way: 'api', decision: 'deny', digest: null });
  }

  #status(generation: number, { run }: SessionState): SessionCommand {
    const sequence = (run?.statuses ?? 0) + 1;
    return {
      type: 'interim-status',
      generation,
      sequence,
      kind: 'progress',
      text: `at it ${++this.#serial}`,
    };
  }

  #compression(generation: number, { run, version }: SessionState, luck: number): SessionCommand {
    return {
      type: 'compress-context',
      generation,
      sequence: (run?.compressions ?? 0) + 1,
      throughVersion: Math.max(0, version - (luck % 12)),
      summary: `summary ${++this.#serial}`,
      input: luck % 3 === 0 ? 'shortened' : null,
      model: 'main',
      usage: USAGE,
    };
  }

  /** Starts a background process for a call. */
  #begin(session: string, callId: string, luck: number): SessionCommand {
    const serial = ++this.#serial;
    const processId = `proc_${serial}`;
    this.#processes.push({ session, processId, endsAt: this.#now + (PROCESS_MS * luck) / 60 });
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
      waitDeadline: this.#now + 200_000,
    };
  }

  #finish(job: RunJob, ...commands: readonly SessionCommand[]): boolean {
    if (this.#append(job.session, ...commands)) this.#leases.delete(job.session);
    return false;
  }

  /** Sends one message of an output, then records the result. Returns false if the job is over. */
  #send(job: SendJob, luck: number): boolean {
    const { session, output, attempt, via, part, possibleDuplicate } = job;
    if (!job.sent) {
      // The deadline is checked right before the request is written.
      if (this.#now >= job.until) return false;
      job.sent = true;
      const unknown = luck < 5;
      if (luck >= 15 || (unknown && luck % 2 === 0)) {
        this.arrivals.push({ session, output, via, part, possibleDuplicate });
      }
      if (luck >= 15) return true;
      const fails = { output, attempt, reason: 'busy' };
      const counts = luck % 3 !== 0;
      if (luck >= 12) this.#append(session, { type: 'give-up-delivery', ...fails, via });
      else
        this.#append(session, {
          type: 'fail-delivery',
          ...fails,
          retryAt: this.#now + RETRY_MS,
          counts,
          unknown,
        });
      return false;
    }
    const chunks = 1 + (output % 3);
    if (part >= chunks) {
      this.#append(session, { type: 'succeed-delivery', output, attempt, receipt: `m-${output}` });
      return false;
    }
    const deadlineSeconds = CLAIM_SECONDS;
    Object.assign(job, { part: part + 1, possibleDuplicate: false, sent: false });
    job.until = this.#now + deadlineSeconds * 1000;
    return this.#append(session, {
      type: 'take-chunk',
      output,
      attempt,
      chunk: part,
      chunks,
      deadlineSeconds,
    });
  }

  /** The watcher looks at a session, perhaps after an absence: one thing at a time, in any order. */
  #watch(session: string, luck: number): void {
    const { turns, processes } = this.#state(session);
    const running = processes.filter(({ status }) => status === 'running');
    const onHost = (id: string) =>
      this.#processes.find((one) => one.session === session && one.processId === id);
    const lost = running.find(({ processId }) => onHost(processId) === undefined);
    const over = running.find(
      ({ processId, killRequested }) => killRequested || (onHost(processId)?.endsAt ?? 0) <= this.#now,
    );
    const started = turns[0]?.calls.filter(({ status }) => status === 'started') ?? [];
    const wait = started.find(({ tool }) => tool === 'process');
    if (lost !== undefined) {
      this.#append(session, { type: 'process-lost', processId: lost.processId, reason: 'gone' });
    } else if (over !== undefined && luck < 60) {
      this.#append(session, {
        type: 'process-exited',
        processId: over.processId,
        exitCode: 0,
        signal: null,
        durationSeconds: 1,
        outputTail: '',
      });
    } else if (wait !== undefined && luck % 4 !== 0) {
      this.#answerWait(session, wait, luck);
    } else if (!this.#resting) {
      this.#watchSomething(session, started, luck);
    }
  }

  #answerWait(session: string, { id: callId, waitsFor }: OpenCall, luck: number): void {
    const waited = this.#state(session).processes.find(({ processId }) => processId === waitsFor);
    // The call times out and says that the process is still running. That may be outdated once it is in the log.
    const timeIsUp = luck >= 80;
    if (waited?.status === 'running' && !timeIsUp) return;
    const known: SessionCommand[] =
      waited === undefined || timeIsUp
        ? []
        : [{ type: 'consume-completion', processId: waited.processId, by: 'wait' }];
    this.#append(session, ...known, {
      type: 'finish-tool',
      generation: null,
      callId,
      outcome: 'ok',
      result: '1',
    });
  }

  #watchSomething(session: string, started: readonly OpenCall[], luck: number): void {
    const { processes } = this.#state(session);
    const process = this.#pick(processes, luck >> 3);
    // The run of the call is gone. Its process and its result are recorded nevertheless.
    const call = started.find(({ tool }) => tool === 'terminal' || isAgentTool(tool));
    if (call !== undefined && luck % 2 === 0) {
      const [callId, outcome, result] = [call.id, 'ok', `watched ${++this.#serial}`] as const;
      if (luck % 4 === 0) this.#append(session, this.#begin(session, callId, luck % 60));
      this.#append(session, { type: 'finish-tool', generation: null, callId, outcome, result });
    } else if (process === undefined) {
      return;
    } else if (luck % 8 === 1) {
      // The host restarted.
      this.#processes = this.#processes.filter(({ processId }) => processId !== process.processId);
    } else if (luck % 8 === 3) {
      this.#append(session, { type: 'consume-completion', processId: process.processId, by: 'kill' });
    } else {
      this.#append(session, {
        type: 'process-matched',
        processId: process.processId,
        match: process.matches + 1,
        pattern: 'x',
        line: 'x',
        overload: luck % 7 === 0,
      });
    }
  }

  /** Running workers renew their leases. Those of crashed and frozen workers expire. */
  #pass(ms: number): void {
    this.#now += ms;
    for (const worker of this.#workers) {
      if (worker.frozen) continue;
      worker.jobs = worker.jobs.filter((job) => {
        if (job.kind === 'send') return true;
        const lease = this.#leases.get(job.session);
        const mine = lease?.holder === `${worker.name}#${worker.incarnation}`;
        // The pause was longer than the lease, so nobody renewed it in time. The worker gives up and does not know the new holder.
        if (!mine || lease.expiresAt <= this.#now) return !mine && job.tool !== null;
        this.#leases.set(job.session, { ...lease, expiresAt: this.#now + LEASE_MS, renewedAt: this.#now });
        return true;
      });
    }
  }

  #sweep(): void {
    for (const [session, { state }] of this.#streams) {
      const due = agenda(state);
      const orphaned = due.running && (this.#leases.get(session)?.expiresAt ?? 0) <= this.#now;
      if (orphaned || (due.run !== null && due.run <= this.#now)) this.#hints.push({ to: 'run', session });
      if (due.delivery !== null && due.delivery <= this.#now) this.#hints.push({ to: 'delivery', session });
    }
  }

  #crash(worker: Worker | undefined): void {
    if (worker === undefined) return;
    worker.jobs = [];
    worker.frozen = false;
    worker.incarnation += 1;
    // A service that restarts under its stable name frees the leases of its dead predecessor.
    for (const [session, lease] of this.#leases) {
      if (lease.holder.startsWith(`${worker.name}#`)) this.#leases.delete(session);
    }
  }

  #freeze(worker: Worker | undefined): void {
    if (worker !== undefined) worker.frozen = true;
  }

  #person(session: string, { which, luck }: Roll): void {
    const { clarification, outputs, processes } = this.#state(session);
    const deliveryId = `d-${++this.#serial}`;
    const [message, webhook] = [`message ${deliveryId}`, `webhook ${deliveryId}`];
    const dead = outputs.filter(({ status }) => status === 'dead');
    const missing = luck % 4 === 0 ? ({ placeholders: ['{x}'], onMissing: 'keep' } as const) : null;
    const wishes: SessionCommand[] = [
      {
        type: 'request-turn',
        source: 'message',
        input: message,
        deliveryId,
        supersede: luck % 2 === 0,
      },
      { type: 'request-turn', source: 'webhook', input: webhook, deliveryId, interrupt: luck < 30, missing },
      { type: 'coalesce-webhook', deliveryId, input: webhook, startAfter: this.#now + 30_000, missing },
      ...dead.map(({ output }) => ({ type: 'retry-delivery' as const, output, by: 'api' })),
      ...processes.map(({ processId }) => ({ type: 'request-kill' as const, processId, by: 'api' })),
    ];
    const wish = this.#pick(wishes, which >> 1);
    if (luck < 3) this.#append(session, { type: 'cancel', by: 'api' });
    else if (clarification !== null && luck < 60) {
      const clarificationId = clarification.id;
      this.#append(session, { type: 'answer-clarification', clarificationId, answer: 'yes', by: 'api' });
    } else if (openApproval(this.#state(session)) !== null && luck < 60) {
      this.#decideApproval(session, { what: 'person', which, luck, pause: 0 });
    } else if (wish !== undefined) this.#append(session, wish);
  }

  /** A frozen process wakes up, a message arrives twice, a request is repeated. */
  #again(session: string, which: number): void {
    const old = this.#pick(this.#streams.get(session)?.decided ?? [], which >> 1);
    if (old !== undefined) this.#append(session, old.command);
  }

  #pick<T>(from: readonly T[], which: number): T | undefined {
    return from.length === 0 ? undefined : from[which % from.length];
  }
}

/** The arguments of a `process` call. Most wait for a process whose end is not known yet. */
function waitFor({ processes }: SessionState, luck: number): string {
  const unknown = processes.filter(({ consumed }) => !consumed);
  const process = (luck % 5 === 0 ? processes : unknown).at(-1);
  return JSON.stringify({ action: 'wait', process_id: process?.processId });
}

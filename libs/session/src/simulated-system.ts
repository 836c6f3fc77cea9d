import type { SessionFact } from '@angelia/contracts';
import { agenda } from './agenda.ts';
import { decide, type SessionCommand } from './decide.ts';
import { deliveryPlan } from './delivery-plan.ts';
import { evolve, type StreamEvent } from './evolve.ts';
import { type RecoveryPolicy, type RunLease, recover } from './recover.ts';
import { telegram } from './sample-facts.ts';
import { initialState, type SessionState } from './state.ts';
import { START, waitingCall } from './testing.ts';
import { pendingAnswer } from './transcript.ts';

/**
 * The four services in miniature over the real domain: a log, leases, a bus that drops, doubles, delays and reorders, and
 * workers that crash and freeze between any two of their steps. Nothing here is timed or concurrent: a list of rolls says
 * what happens next, so that every history can be played again (issue 7, "model test").
 */
export interface Roll {
  readonly what: number;
  readonly which: number;
  readonly luck: number;
  readonly pause: number;
}

export const policy: RecoveryPolicy = { freshnessSeconds: 600, maxAttempts: 3, maxInterruptionSeconds: 1200 };
const LEASE_MS = 20_000;
const CLAIM_SECONDS = 45;
const RETRY_MS = 5_000;
const QUESTION_MS = 60_000;
/** Longest life of a background process. */
const PROCESS_MS = 4_000;

interface Hint {
  readonly to: 'run' | 'delivery';
  readonly session: string;
}

interface RunJob {
  readonly kind: 'run';
  readonly session: string;
  readonly generation: number;
  /** A call that was recorded as begun by this job and not carried out yet, or carried out and not recorded. */
  tool: { readonly callId: string; done: boolean } | null;
}

interface SendJob {
  readonly kind: 'send';
  readonly session: string;
  readonly output: number;
  readonly attempt: number;
  readonly possibleDuplicate: boolean;
  readonly until: number;
  sent: boolean;
}

/** On the watcher's host: goes on and ends whoever is there to see it. */
interface BackgroundProcess {
  readonly session: string;
  readonly processId: string;
  readonly endsAt: number;
}

interface Worker {
  readonly role: 'run' | 'delivery';
  readonly name: string;
  incarnation: number;
  frozen: boolean;
  jobs: (RunJob | SendJob)[];
}

export interface Arrival {
  readonly session: string;
  readonly output: number;
  readonly possibleDuplicate: boolean;
}

export class SimulatedSystem {
  now = START;
  readonly streams = new Map<string, StreamEvent[]>();
  readonly arrivals: Arrival[] = [];
  readonly carriedOut: { readonly session: string; readonly callId: string }[] = [];
  /** Whatever the domain refused a worker: shows that the fences were met at all. */
  readonly refusals = new Map<string, number>();
  /** Takeovers of runs whose lease was alive. */
  liveRunsTaken = 0;
  /** What a run that was followed by another got into the log all the same. */
  staleAppends = 0;
  private readonly states = new Map<string, SessionState>();
  private readonly leases = new Map<string, RunLease>();
  private hints: Hint[] = [];
  private readonly processes: BackgroundProcess[] = [];
  /** No more processes: each would be another turn. */
  private resting = false;
  private readonly workers: Worker[] = (['run', 'run', 'delivery', 'delivery'] as const).map((role, n) => ({
    role,
    name: `${role}-${n}`,
    incarnation: 1,
    frozen: false,
    jobs: [],
  }));
  private serial = 0;

  constructor(sessions: number) {
    for (let n = 1; n <= sessions; n += 1) {
      const session = `s${n}`;
      this.streams.set(session, []);
      this.append(session, {
        type: 'create-session',
        route: 'r',
        event: null,
        deliveryId: session,
        title: 't',
        agent: 'a',
        deliver: telegram,
        input: 'input 1',
      });
      this.hints.push({ to: 'run', session });
    }
    this.leftWaiting(`s${sessions}`);
  }

  /** As a runner leaves it that is killed while its call waits for the end of a process. */
  private leftWaiting(session: string): void {
    this.append(session, ...waitingCall(this.now));
    this.processes.push({ session, processId: 'proc_0', endsAt: this.now + PROCESS_MS });
  }

  state(session: string): SessionState {
    return this.states.get(session) ?? initialState();
  }

  happen(roll: Roll): void {
    const { what, luck } = roll;
    if (what < 30) this.deliverHint(roll);
    else if (what < 60) this.advance(this.pick(this.workers, roll.which), roll);
    else if (what < 65) this.watch(this.pick([...this.streams.keys()], roll.which), luck);
    else if (what < 75) this.pass(roll.pause);
    else if (what < 82) this.sweep();
    else if (what < 86) this.crash(this.pick(this.workers, roll.which));
    else if (what < 89) this.freeze(this.pick(this.workers, roll.which));
    else if (what < 90) this.hints = [];
    else this.user(this.pick([...this.streams.keys()], roll.which), luck);
  }

  /** Everything is mended: as long as it takes, within a bound, until nothing is left to do. */
  comeToRest(): boolean {
    this.resting = true;
    for (const worker of this.workers) this.crash(worker);
    for (let round = 0; round < 400; round += 1) {
      if ([...this.streams.keys()].every((session) => agenda(this.state(session)).settled)) return true;
      this.pass(round % 10 === 9 ? QUESTION_MS : 2_000);
      this.sweep();
      for (const session of this.streams.keys()) for (const luck of [10, 90]) this.watch(session, luck);
      while (this.hints.length > 0) this.deliverHint({ what: 0, which: 0, luck: 50, pause: 0 });
      for (let step = 0; step < 40; step += 1) {
        for (const worker of this.workers) {
          this.advance(worker, { what: 0, which: step, luck: 30 + ((step * 7) % 40), pause: 0 });
        }
      }
    }
    return false;
  }

  private append(session: string, ...commands: SessionCommand[]): boolean {
    let state = this.state(session);
    const facts: SessionFact[] = [];
    const events: StreamEvent[] = [];
    for (const command of commands) {
      const decision = decide(state, command);
      if (!decision.ok) {
        this.refusals.set(decision.code, (this.refusals.get(decision.code) ?? 0) + 1);
        return false;
      }
      const ofRun = 'generation' in command && command.type !== 'start-run' ? command.generation : null;
      if (ofRun !== null && ofRun !== state.generation && decision.events.length > 0) this.staleAppends += 1;
      for (const fact of decision.events) {
        const event = { ...fact, version: state.version + 1, recordedAt: this.now };
        state = evolve(state, event);
        facts.push(fact);
        events.push(event);
      }
    }
    this.states.set(session, state);
    this.streams.get(session)?.push(...events);
    for (const { type } of facts) {
      if (type === 'turn.requested' || type === 'run.interrupted' || type === 'clarification.answered') {
        this.hints.push({ to: 'run', session });
      }
      if (type === 'session.final-response' || type === 'session.interim-status') {
        this.hints.push({ to: 'delivery', session });
      }
    }
    return facts.length > 0;
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
      this.append(session, {
        type: 'expire',
        reason: verdict.reason,
        turn: verdict.turn,
        generation: state.generation,
      });
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
    const { output, attempt, possibleDuplicate } = plan;
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
    worker.jobs.push({ kind: 'send', session, output, attempt, possibleDuplicate, until, sent: false });
  }

  private advance(worker: Worker | undefined, roll: Roll): void {
    const job = worker && this.pick(worker.jobs, roll.which);
    if (worker === undefined || job === undefined) return;
    // A thawed one goes on where it stood, as if no time had passed.
    worker.frozen = false;
    const goesOn = job.kind === 'run' ? this.step(job, roll.luck) : this.send(job, roll.luck);
    if (goesOn) return;
    worker.jobs = worker.jobs.filter((other) => other !== job);
    const next = job.kind === 'run' ? 'run' : 'delivery';
    this.hints.push({ to: next, session: job.session });
  }

  /** One step of a run; false: the job is over. */
  private step(job: RunJob, luck: number): boolean {
    const { session, generation } = job;
    const state = this.state(session);
    const turn = state.turns[0];
    if (job.tool !== null) {
      const { callId, done } = job.tool;
      if (!done) {
        this.carriedOut.push({ session, callId });
        job.tool = { callId, done: true };
        return true;
      }
      job.tool = null;
      const begun = luck < 60 && !this.resting ? this.begin(session, callId, luck) : [];
      const finished = { type: 'finish-tool', generation, callId, outcome: 'ok', result: '1' } as const;
      return this.append(session, ...begun, finished);
    }
    const open = turn?.calls.find((call) => call.status === 'asked' || call.status === 'started');
    if (open !== undefined && open.status === 'started') {
      // The watcher's: waited for, and at last given up.
      if (open.tool === 'process' && luck < 75) return true;
      return this.append(session, {
        type: 'finish-tool',
        generation,
        callId: open.id,
        outcome: 'unknown',
        result: '?',
      });
    }
    if (open !== undefined && open.tool === 'clarify') {
      const clarificationId = `q${++this.serial}`;
      const deadline = this.now + QUESTION_MS;
      const onTimeout = luck % 2 === 0 ? 'end' : 'continue';
      this.append(session, {
        type: 'request-clarification',
        generation,
        clarificationId,
        callId: open.id,
        question: '?',
        deadline,
        onTimeout,
      });
      this.leases.delete(session);
      return false;
    }
    if (open !== undefined) {
      const begun = this.append(session, {
        type: 'start-tool',
        generation,
        callId: open.id,
        tool: open.tool,
        arguments: open.tool === 'process' ? this.waitFor(state) : '{}',
      });
      if (begun && open.tool === 'terminal') job.tool = { callId: open.id, done: false };
      return begun;
    }
    const said = turn?.completing ? pendingAnswer(this.streams.get(session) ?? []) : null;
    if (said !== null) return this.finish(job, { type: 'finish-turn', generation, text: said });
    if (luck < 5)
      return this.finish(job, { type: 'fail-run', generation, code: 'x', message: 'x', text: 'x' });
    if (luck < 10) return this.finish(job, { type: 'interrupt-run', generation, reason: 'drain' });
    if (luck < 20) {
      const sequence = (state.run?.statuses ?? 0) + 1;
      return this.append(session, {
        type: 'interim-status',
        generation,
        sequence,
        kind: 'agent',
        text: 'at it',
      });
    }
    const response = {
      type: 'record-model-response',
      generation,
      step: (turn?.step ?? 0) + 1,
      model: 'm',
      finishReason: 'stop',
      usage: { input_tokens: 1, output_tokens: 1 },
    } as const;
    const text = `answer ${++this.serial}`;
    if (luck < 50) {
      // Only for what it does not know yet: nobody waits for the same end for ever.
      const other = luck % 2 === 0 && state.processes.at(-1)?.consumed === false ? 'process' : 'terminal';
      const name = luck < 28 ? 'clarify' : other;
      const toolCalls = [{ id: `c${this.serial}`, name, arguments: '{}' }];
      return this.append(session, { ...response, text: '', toolCalls });
    }
    if (luck < 60) return this.append(session, { ...response, text });
    return this.finish(job, { ...response, text }, { type: 'finish-turn', generation, text });
  }

  /** A background process for a call; what says so goes with the call's result. */
  private begin(session: string, callId: string, luck: number): SessionCommand[] {
    const processId = `proc_${++this.serial}`;
    this.processes.push({ session, processId, endsAt: this.now + (PROCESS_MS * luck) / 100 });
    return [
      {
        type: 'process-started',
        processId,
        callId,
        command: 'x',
        host: 'h',
        bootId: 'b',
        pid: 1,
        pidStartTime: '1',
        cwd: '/',
        notifyOnComplete: true,
        waitDeadline: this.now + QUESTION_MS * 100,
      },
    ];
  }

  private waitFor({ processes }: SessionState): string {
    return JSON.stringify({ action: 'wait', process_id: processes.at(-1)?.processId });
  }

  /** The watcher looks at a session, or comes back after it was away: one thing at a time, in either order. */
  private watch(session: string | undefined, luck: number): void {
    if (session === undefined) return;
    const { turns, processes } = this.state(session);
    const over = this.processes.find(
      (one) =>
        one.session === session &&
        one.endsAt <= this.now &&
        processes.some(({ processId, status }) => processId === one.processId && status === 'running'),
    );
    const wait = turns[0]?.calls.find((call) => call.status === 'started' && call.tool === 'process');
    const waited = processes.find(({ processId }) => processId === wait?.waitsFor);
    if (over !== undefined && luck < 60) {
      const { processId } = over;
      this.append(session, {
        type: 'process-exited',
        processId,
        exitCode: 0,
        signal: null,
        durationSeconds: 1,
        outputTail: '',
      });
    } else if (wait !== undefined) {
      // Its time is up: it says that the process goes on, which may be no longer so when that gets into the log.
      const timeIsUp = luck >= 80;
      if (waited?.status === 'running' && !timeIsUp) return;
      const known: SessionCommand[] =
        waited === undefined || timeIsUp
          ? []
          : [{ type: 'consume-completion', processId: waited.processId, by: 'wait' }];
      const callId = wait.id;
      this.append(session, ...known, {
        type: 'finish-tool',
        generation: null,
        callId,
        outcome: 'ok',
        result: '1',
      });
    }
  }

  private finish(job: RunJob, ...commands: SessionCommand[]): boolean {
    if (this.append(job.session, ...commands)) this.leases.delete(job.session);
    return false;
  }

  private send(job: SendJob, luck: number): boolean {
    const { session, output, attempt, possibleDuplicate } = job;
    if (!job.sent) {
      // The time left is looked at right before the request is written.
      if (this.now >= job.until) return false;
      job.sent = true;
      if (luck >= 15) this.arrivals.push({ session, output, possibleDuplicate });
      else {
        const retryAt = this.now + RETRY_MS;
        this.append(session, { type: 'fail-delivery', output, attempt, reason: 'busy', retryAt });
        return false;
      }
      return true;
    }
    this.append(session, { type: 'succeed-delivery', output, attempt, receipt: null });
    return false;
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
    for (const session of this.streams.keys()) {
      const due = agenda(this.state(session));
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

  private user(session: string | undefined, luck: number): void {
    if (session === undefined) return;
    const state = this.state(session);
    if (luck < 8) {
      this.append(session, { type: 'cancel', by: 'api' });
    } else if (state.clarification !== null && luck < 70) {
      const clarificationId = state.clarification.id;
      this.append(session, { type: 'answer-clarification', clarificationId, answer: 'yes', by: 'api' });
    } else if (luck < 60 || state.clarification !== null) {
      const input = `message ${++this.serial}`;
      const supersede = luck % 2 === 0;
      this.append(session, { type: 'request-turn', source: 'message', input, deliveryId: input, supersede });
    }
  }

  private pick<T>(from: readonly T[], which: number): T | undefined {
    return from.length === 0 ? undefined : from[which % from.length];
  }
}

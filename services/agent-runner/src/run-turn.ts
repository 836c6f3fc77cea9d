import { setTimeout as pause } from 'node:timers/promises';
import type { AgentConfig, Config } from '@angelia/contracts';
import { storable } from '@angelia/event-log';
import {
  type Executed,
  type Loaded,
  type Logger,
  type Sessions,
  SkillUnavailable,
  withSpan,
} from '@angelia/service-kit';
import { decide, pendingAnswer, type SessionCommand } from '@angelia/session';
import { askModel, ModelsFailed } from './ask-model.ts';
import type { Claim } from './claim.ts';
import { decideAll } from './decide-all.ts';
import type { RunLeases } from './leases.ts';
import type { ModelReply } from './models/model.ts';
import type { Models } from './models/models.ts';
import { renderPrompt } from './prompt.ts';
import type { RunStop, StopSwitch } from './run-stop.ts';

export interface RunDeps {
  readonly config: Config;
  readonly models: Models;
  readonly sessions: Pick<Sessions, 'refresh' | 'execute'>;
  readonly leases: RunLeases;
  readonly logger: Logger;
}

/** An answer that Postgres is away for is kept this long: asking the model again costs more than waiting. */
const KEEP_TRYING_MS = 5 * 60_000;
const FIRST_WAIT_MS = 100;
const LONGEST_WAIT_MS = 2_000;

/** What the user reads: one sentence, never the raw error. */
const told = {
  models_failed: 'Sorry, the language model could not be reached, so this was not answered.',
  timeout: 'Sorry, this took longer than allowed and was stopped.',
  agent_missing: 'Sorry, the agent that should do this is no longer configured.',
  skill_unavailable: 'Sorry, an instruction that is needed for this is missing here.',
  agent_unsupported: 'Sorry, the agent that should do this cannot be run here.',
  budget: 'Sorry, this session has used all the tokens that it may.',
  internal: 'Sorry, this could not be finished because of an internal error.',
} as const;
type FailureCode = keyof typeof told;

/**
 * A claimed run, from `run.started` to its last event: asks the model, appends its answer together with the final
 * response and the end of the session, and gives the lease back in the same append. Returns the session as it was then;
 * null when the run was not ours to end.
 */
export async function runTurn(claim: Claim, stop: StopSwitch, deps: RunDeps): Promise<Loaded | null> {
  const lease = deps.leases.hold(claim.resource, claim.since, (loss) =>
    stop.press({ kind: 'lease_lost', loss }),
  );
  const { created } = claim.loaded.state;
  const agentName = created?.agent ?? '';
  const { agents } = deps.config;
  const agent = Object.hasOwn(agents, agentName) ? agents[agentName] : undefined;
  const timer =
    agent && setTimeout(() => stop.press({ kind: 'timeout' }), agent.timeout_seconds * 1000).unref();
  const run = new Run(claim, stop, deps);
  try {
    return await withSpan(
      `invoke_agent ${agentName}`,
      {
        attributes: {
          'gen_ai.operation.name': 'invoke_agent',
          'gen_ai.agent.name': agentName,
          'gen_ai.conversation.id': claim.loaded.id,
          'angelia.generation': claim.generation,
        },
        parent: created?.traceparent ?? undefined,
      },
      () => run.carryOut(agentName, agent),
    );
  } finally {
    clearTimeout(timer);
    lease.drop();
  }
}

class Run {
  readonly #claim: Claim;
  readonly #stop: StopSwitch;
  readonly #deps: RunDeps;
  /** As of our last append or look. */
  #loaded: Loaded;

  constructor(claim: Claim, stop: StopSwitch, deps: RunDeps) {
    this.#claim = claim;
    this.#stop = stop;
    this.#deps = deps;
    this.#loaded = claim.loaded;
  }

  async carryOut(agentName: string, agent: AgentConfig | undefined): Promise<Loaded | null> {
    if (agent === undefined) {
      return this.#fail('agent_missing', `agent ${agentName} is not in the config any more`);
    }
    if (agent.kind !== 'llm')
      return this.#fail('agent_unsupported', `agent ${agentName} is of kind ${agent.kind}`);
    for (;;) {
      try {
        return await this.#step(agent);
      } catch (error) {
        const stopped = this.#stop.reason;
        if (stopped === null) return this.#failed(error);
        if (stopped.kind !== 'cancel') return this.#stopped(stopped);
        if (await this.#isOver()) return this.#loaded;
        this.#stop.takeBackCancel();
      }
    }
  }

  /** One model answer. There are no tools yet, so that the first one is the last. */
  async #step(agent: AgentConfig): Promise<Loaded | null> {
    const { generation, turn: number } = this.#claim;
    const turn = this.#loaded.state.turns.find((open) => open.turn === number);
    if (turn === undefined) return null;
    // An earlier run recorded the answer and died before the final response: it is not asked for again (C13).
    const text = turn.completing ? pendingAnswer(this.#loaded.events) : null;
    if (text !== null) return this.#end([{ type: 'finish-turn', generation, text }]);
    const { input_tokens, output_tokens } = this.#loaded.state.usage;
    if (input_tokens + output_tokens >= agent.budget.max_tokens) {
      return this.#fail(
        'budget',
        `the session has used up the ${agent.budget.max_tokens} tokens of its budget`,
      );
    }
    const { model, reply } = await askModel(
      agent,
      renderPrompt(agent, this.#deps.config.directories.skills, this.#loaded),
      {
        models: this.#deps.models,
        signal: () => this.#stop.signal,
        logger: this.#deps.logger,
        sessionId: this.#loaded.id,
        onFallback: (name) => this.#say(`Primary model failed, switching to fallback: ${name}`),
      },
    );
    this.#stop.signal.throwIfAborted();
    return this.#answer(model, turn.step + 1, reply);
  }

  #answer(model: string, step: number, reply: ModelReply): Promise<Loaded | null> {
    const { generation } = this.#claim;
    const text = storable(reply.text);
    const { finishReason, usage } = reply;
    return this.#end([
      { type: 'record-model-response', generation, step, model, text, finishReason, usage },
      { type: 'finish-turn', generation, text },
    ]);
  }

  async #say(text: string): Promise<void> {
    const executed = await this.#append(({ state }) =>
      decide(state, {
        type: 'interim-status',
        generation: this.#claim.generation,
        sequence: (state.run?.statuses ?? 0) + 1,
        kind: 'fallback',
        text,
      }),
    );
    if (executed.status === 'refused') throw new NotOurs(executed.reason);
  }

  #failed(error: unknown): Promise<Loaded | null> {
    if (error instanceof NotOurs) return Promise.resolve(null);
    if (error instanceof SkillUnavailable) return this.#fail('skill_unavailable', error.message);
    if (error instanceof ModelsFailed) return this.#fail('models_failed', error.message);
    this.#deps.logger.error(
      { err: error, session_id: this.#loaded.id },
      'a run failed for a reason of our own',
    );
    return this.#fail('internal', error instanceof Error ? `${error.name}: ${error.message}` : String(error));
  }

  async #stopped(stop: Exclude<RunStop, { kind: 'cancel' }>): Promise<Loaded | null> {
    const { generation } = this.#claim;
    switch (stop.kind) {
      case 'timeout':
        return this.#fail('timeout', 'the run took longer than the timeout_seconds of its agent');
      case 'drain':
        return this.#end([{ type: 'interrupt-run', generation, reason: 'drain' }]);
      case 'lease_lost':
        this.#deps.logger.warn(
          { session_id: this.#loaded.id, generation, loss: stop.loss },
          'the lease of a run was lost: its work was given up',
        );
        if (stop.loss === 'taken') return null;
        // If nobody took over while Postgres was away, say that it was no fault of the run (not counted as an attempt).
        return this.#end([{ type: 'interrupt-run', generation, reason: 'infrastructure' }]);
    }
  }

  #fail(code: FailureCode, message: string): Promise<Loaded | null> {
    const { generation } = this.#claim;
    return this.#end([{ type: 'fail-run', generation, code, message: storable(message), text: told[code] }]);
  }

  /** The last append of this run: gives the lease back as well. Null when another generation has the session. */
  async #end(commands: readonly SessionCommand[]): Promise<Loaded | null> {
    const executed = await this.#append(({ state }) => decideAll(state, commands), true);
    if (executed.status === 'appended') return executed.loaded;
    if (executed.status === 'refused') {
      this.#deps.logger.debug(
        { session_id: this.#loaded.id, generation: this.#claim.generation, code: executed.code },
        'a run was not ours to end',
      );
    }
    return null;
  }

  async #append(
    decideOn: Parameters<Sessions['execute']>[1],
    release = false,
  ): Promise<Exclude<Executed, { status: 'duplicate' | 'limited' | 'full' }>> {
    const begun = performance.now();
    for (let wait = FIRST_WAIT_MS; ; wait = Math.min(wait * 2, LONGEST_WAIT_MS)) {
      try {
        const executed = await this.#deps.sessions.execute(this.#loaded.id, decideOn, {
          loaded: this.#loaded,
          ...(release ? { lease: { resource: this.#claim.resource, release: true } } : {}),
        });
        if (executed.status === 'duplicate' || executed.status === 'limited' || executed.status === 'full') {
          throw new Error(`an append without a key or a limit was answered with ${executed.status}`);
        }
        this.#loaded = executed.loaded;
        return executed;
      } catch (error) {
        if (!isRetryable(error) || performance.now() - begun > KEEP_TRYING_MS) throw error;
        await pause(wait);
      }
    }
  }

  /** Whether the log says that this run is over. */
  async #isOver(): Promise<boolean> {
    this.#loaded = await this.#deps.sessions.refresh(this.#loaded);
    return this.#loaded.state.run?.generation !== this.#claim.generation;
  }
}

/** Thrown inside a run when the log refuses what it says: another generation has the session. Nothing is left to do. */
class NotOurs extends Error {
  override readonly name = 'NotOurs';
}

function isRetryable(error: unknown): boolean {
  return error instanceof Error && 'retryable' in error && error.retryable === true;
}

import { type AgentConfig, type Config, type HolderId, instanceOf, runResource } from '@angelia/contracts';
import type { Leases, LogStatus } from '@angelia/event-log';
import { decide, type Recovery, type RecoveryPolicy, recover, type SessionState } from '@angelia/session';
import type { Loaded, Sessions } from '@angelia/sessions';

/** A run that is ours: its events carry this generation, and its lease is held. */
export interface Claim {
  readonly loaded: Loaded;
  readonly generation: number;
  readonly turn: number;
  readonly resource: string;
  /** Monotonic time of the request that took the lease. */
  readonly since: number;
}

export interface ClaimDeps {
  readonly config: Config;
  readonly sessions: Pick<Sessions, 'execute'>;
  readonly log: { readonly leases: Pick<Leases, 'read'>; readonly status: Pick<LogStatus, 'lastAwayAt'> };
  readonly holder: HolderId;
}

/** What the log says is to be done about this session now (invariant resume-is-derived). */
export async function judge(loaded: Loaded, deps: ClaimDeps): Promise<Recovery> {
  const policy = policyOf(deps.config, loaded);
  // The usual case, a turn that nobody began and that may wait for ever, needs no clock and no second query.
  if (isTimeless(loaded.state)) return recover(loaded.state, null, loaded.state.lastActivityAt, policy);
  const { lease, now } = await deps.log.leases.read(runResource(loaded.id));
  const verdict = recover(loaded.state, lease, now, policy);
  return mayStillSpeak(loaded.state, verdict, deps)
    ? { action: 'wait', until: now + SPEAK_FIRST_MS, reason: 'lease' }
    : verdict;
}

/** Longer than the longest wait between two tries of an append (run.ts), and a connection. */
const SPEAK_FIRST_MS = 5_000;

/**
 * Postgres was away for us just now: perhaps also for the runner of this run, which then could not renew its lease and
 * is about to say so, by `run.interrupted`. Taken over before that, the run would count as an attempt, and a few
 * outages would end the session. The sweep has us look again. A predecessor of ours has nothing more to say.
 */
function mayStillSpeak({ run }: SessionState, verdict: Recovery, { log, holder }: ClaimDeps): boolean {
  const lost = verdict.action === 'resume' ? verdict.takeover : verdict.action === 'expire';
  if (!lost || run === null || log.status.lastAwayAt === null) return false;
  return (
    instanceOf(run.runner as HolderId) !== instanceOf(holder) &&
    performance.now() - log.status.lastAwayAt < SPEAK_FIRST_MS
  );
}

/** No verdict on it depends on the time. Whatever does is judged by the database's clock: ours may be wrong. */
function isTimeless({ ended, run, clarification, turns }: SessionState): boolean {
  const head = turns[0];
  if (ended !== null) return true;
  if (run !== null || clarification !== null || head === undefined) return false;
  return head.startedAt === null && head.startAfter === null && head.queueDeadline === null;
}

/**
 * Appends `run.started` and takes the lease, in one; null when somebody else was faster, or it is too early now. `full`: the route has as many
 * runs at once as it may. The lease is the run's place among them, so that all runners together hold the limit.
 */
export async function claim(
  loaded: Loaded,
  verdict: Extract<Recovery, { action: 'resume' }>,
  deps: ClaimDeps,
): Promise<Claim | 'full' | null> {
  const generation = loaded.state.generation + 1;
  const resource = runResource(loaded.id);
  const since = performance.now();
  const executed = await deps.sessions.execute(
    loaded.id,
    ({ state }) =>
      windowOf(state) === windowOf(loaded.state)
        ? decide(state, {
            type: 'start-run',
            generation,
            turn: verdict.turn,
            runner: deps.holder,
            resumed: verdict.resumed,
            attempt: verdict.attempt,
            takeover: verdict.takeover,
          })
        : null,
    {
      loaded,
      lease: {
        resource,
        holder: deps.holder,
        seconds: deps.config.timing.lease_seconds,
        pool: poolOf(deps.config, loaded),
      },
    },
  );
  if (executed.status === 'full') return 'full';
  if (executed.status !== 'appended') return null;
  return { loaded: executed.loaded, generation, turn: verdict.turn, resource, since };
}

/**
 * A webhook that is coalesced while we claim moves it: the verdict was about the window before. Its timer has somebody
 * look again when it closes (found by tests/chaos, seed 8: Postgres was frozen for longer than the first window).
 */
function windowOf({ turns }: SessionState): number | null {
  return turns[0]?.startAfter ?? null;
}

/**
 * Says to the user that it is over, and ends it; or ends the wait for an answer, after which the turn may go on. No
 * lease: the generation in the command is fence enough. Null when somebody else was faster.
 */
export async function expire(
  loaded: Loaded,
  verdict: Extract<Recovery, { action: 'expire' }>,
  deps: ClaimDeps,
): Promise<Loaded | null> {
  const { generation } = loaded.state;
  const executed = await deps.sessions.execute(
    loaded.id,
    ({ state }) => decide(state, { type: 'expire', reason: verdict.reason, turn: verdict.turn, generation }),
    { loaded },
  );
  return executed.status === 'appended' ? executed.loaded : null;
}

/** Routes of the config: as it says now, so that raising a limit helps what waits already. Others: as was captured. */
function poolOf(config: Config, { state }: Loaded): { name: string; places: number } | undefined {
  const { route: name = '', maxConcurrency = null } = state.created ?? {};
  const route = Object.hasOwn(config.routes, name) ? config.routes[name] : undefined;
  const places = route === undefined ? maxConcurrency : route.max_concurrency;
  return places == null ? undefined : { name: `route:${name}`, places };
}

/** An agent that is gone from the config has no policy: its turns are claimed, and fail with that reason. */
function policyOf(config: Config, loaded: Loaded): RecoveryPolicy {
  const name = loaded.state.created?.agent ?? '';
  const agent: AgentConfig | undefined = Object.hasOwn(config.agents, name) ? config.agents[name] : undefined;
  const resume = agent?.resume ?? WITHOUT_AGENT;
  return {
    freshnessSeconds: resume.freshness_seconds,
    maxAttempts: resume.max_attempts,
    maxInterruptionSeconds: resume.max_interruption_seconds,
  };
}

/** The config's defaults. */
const WITHOUT_AGENT = { freshness_seconds: 3600, max_attempts: 3, max_interruption_seconds: 86_400 };

import type { CurrentConfig } from '@angelia/config';
import { type AgentConfig, type Config, type HolderId, instanceOf, runResource } from '@angelia/contracts';
import type { Leases, LogStatus } from '@angelia/event-log';
import {
  decide,
  openApproval,
  type Recovery,
  type RecoveryPolicy,
  recover,
  type SessionState,
} from '@angelia/session';
import type { Loaded, Sessions } from '@angelia/sessions';

/** A run that this runner has claimed: its events carry this generation, and the runner holds its lease. */
export interface Claim {
  readonly loaded: Loaded;
  readonly generation: number;
  readonly turn: number;
  readonly resource: string;
  /** Monotonic time of the request that took the lease. */
  readonly since: number;
}

export interface ClaimDeps {
  readonly config: CurrentConfig;
  readonly sessions: Pick<Sessions, 'execute'>;
  readonly log: { readonly leases: Pick<Leases, 'read'>; readonly status: Pick<LogStatus, 'lastAwayAt'> };
  readonly holder: HolderId;
}

/** Derives from the log what to do with this session now (invariant resume-is-derived). */
export async function judge(
  loaded: Loaded,
  deps: ClaimDeps,
  { modelIsBack = false }: Pick<RecoveryPolicy, 'modelIsBack'> = {},
): Promise<Recovery> {
  const policy = { ...policyOf(deps.config.current, loaded), modelIsBack };
  // The usual case, a turn that nobody started and that may wait for ever, needs no clock and no second query.
  if (needsNoClock(loaded.state)) return recover(loaded.state, null, loaded.state.lastActivityAt, policy);
  const { lease, now } = await deps.log.leases.read(runResource(loaded.id));
  const verdict = recover(loaded.state, lease, now, policy);
  return mayStillReport(loaded.state, verdict, deps)
    ? { action: 'wait', until: now + REPORT_FIRST_MS, reason: 'lease' }
    : verdict;
}

/** Longer than the longest wait between two tries of an append (claimed-run.ts) plus a reconnect. */
const REPORT_FIRST_MS = 5_000;

/**
 * A runner that also saw the outage waits so that the original runner can report first. If Postgres was away for us
 * just now, it may have been away for the runner of this run, which then could not renew its lease and is about to
 * append `run.interrupted`. A takeover before that would count as an attempt, and a few outages would end the session.
 * The sweep makes us look again. A previous process of this runner is dead and reports nothing.
 */
function mayStillReport({ run }: SessionState, verdict: Recovery, { log, holder }: ClaimDeps): boolean {
  const lost = verdict.action === 'resume' ? verdict.takeover : verdict.action === 'expire';
  if (!lost || run === null || log.status.lastAwayAt === null) return false;
  return (
    instanceOf(run.runner as HolderId) !== instanceOf(holder) &&
    performance.now() - log.status.lastAwayAt < REPORT_FIRST_MS
  );
}

/** The verdict does not depend on the time. Where it does, the database's clock counts: ours may be wrong. */
function needsNoClock(state: SessionState): boolean {
  const { ended, run, clarification, turns } = state;
  const head = turns[0];
  if (ended !== null) return true;
  if (run !== null || head === undefined) return false;
  if (clarification !== null || openApproval(state) !== null) return false;
  return head.startedAt === null && head.startAfter === null && head.queueDeadline === null;
}

/**
 * Appends `run.started` and takes the lease, in one statement. Null: another runner was faster, or it is too early now.
 * `full`: the route is at its `max_concurrency`. The lease is the run's place on the route, so that all runners
 * together keep the limit.
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
      isAsJudged(state, loaded.state)
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
        seconds: deps.config.current.timing.lease_seconds,
        pool: poolOf(deps.config.current, loaded),
      },
    },
  );
  if (executed.status === 'full') return 'full';
  if (executed.status !== 'appended') return null;
  return { loaded: executed.loaded, generation, turn: verdict.turn, resource, since };
}

/**
 * Whether the verdict still fits. Somebody may append between the judgement and the claim:
 * - A webhook that is coalesced moves the window. Its timer makes a runner look again (tests/chaos, seed 8: Postgres was
 *   frozen for longer than the first window).
 * - The original runner reports `run.interrupted`, so the attempt does not count. That event's hint makes a runner look
 *   again (tests/chaos, seed 13 on an overloaded machine: the takeover said attempt 2, and the events said 1).
 */
export function isAsJudged(state: SessionState, judged: SessionState): boolean {
  const [head, before] = [state.turns[0], judged.turns[0]];
  return (
    state.run?.generation === judged.run?.generation &&
    head?.startAfter === before?.startAfter &&
    head?.attempts === before?.attempts
  );
}

/**
 * Tells the user that the turn expired, and ends it; or ends the wait for an answer, after which the turn may go on. It
 * needs no lease: the generation in the command is the fence. Null: another runner was faster.
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

/** A route of the config has its current limit, so that a raised limit helps sessions that wait. Others: as captured. */
function poolOf(config: Config, { state }: Loaded): { name: string; capacity: number } | undefined {
  const { route: name = '', maxConcurrency = null } = state.created ?? {};
  const route = Object.hasOwn(config.routes, name) ? config.routes[name] : undefined;
  const capacity = route === undefined ? maxConcurrency : route.max_concurrency;
  return capacity == null ? undefined : { name: `route:${name}`, capacity };
}

/** An agent that is gone from the config has no policy: its turns are claimed, and fail for that reason. */
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

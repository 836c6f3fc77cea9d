import { isDeepStrictEqual } from 'node:util';
import type { History, LoggedEvent, Posted, Received } from './history.ts';
import { anOutageIsAWait, failuresAreTold, resumeIsDerived } from './resumption.ts';
import { eventsOf, type Violation, type Violations, violation } from './violation.ts';

/**
 * Judges a history by the invariants of DESIGN.md. It knows event names and promises to users, but nothing of how the product
 * folds, decides or delivers: a checker that shared that code would share its bugs. Only the comparison of the views with
 * the log uses the product's own fold; it is made before.
 */
export interface Figures {
  readonly posts: number;
  readonly accepted: number;
  readonly sessions: number;
  readonly finals: number;
  /** Sessions that did not end, and answers that no target has and that no event reports as dead. */
  readonly lost: number;
  /** Answers, commands and notices that happened twice and are not marked as possible duplicates. */
  readonly doubled: number;
  /** Second copies that are marked. */
  readonly marked: number;
  /** Answers that the target refuses, with an event that says so. */
  readonly givenUp: number;
  /** Answers later than LATE_MS after their turn was requested. */
  readonly late: number;
  readonly slowestMs: number;
  readonly resumed: number;
}

export interface Verdict {
  readonly violations: readonly Violation[];
  readonly figures: Figures;
}

/** Longer than an answer takes without faults. The slowest kind waits about 5 s for a model and a target. */
export const LATE_MS = 30_000;
/** How long the kernel takes to report a closed connection on a busy machine. */
const NEWS_MS = 500;
/** Two clocks that are read around the same moment may differ by this. */
const CLOCK_MS = 50;

/** Events that may follow the end of a session. They start nothing. */
const AFTER_THE_END = /^(delivery|process)\./;
const OUTPUTS = ['session.interim-status', 'clarification.requested', 'session.final-response'];
/** After these events no run works on the turn. */
const CLOSES_RUN = [
  'session.final-response',
  'clarification.requested',
  'run.interrupted',
  'run.put-off',
  'run.cancelled',
  'session.ended',
];

interface Session {
  readonly id: string;
  readonly events: readonly LoggedEvent[];
  /** In the order of arrival. */
  readonly received: readonly Received[];
}

export function judge(history: History): Verdict {
  const sessions = sessionsOf(history);
  const violations = [
    ...acceptedIsDurable(history, sessions),
    ...oneDeliveryOneSession(history, sessions),
    ...messagesAreTakenOnce(history, sessions),
    ...[...sessions.values()].flatMap((session) => [
      ...streamIsWhole(session),
      ...everySessionEnds(session),
      ...configIsAFact(session),
      ...writtenBeforeSent(session),
      ...inOrder(session),
      ...finalOnce(session),
      ...statusesOnce(session),
      ...oneSenderAtATime(session),
      ...singleOwner(session),
      ...resumeIsDerived(session),
      ...anOutageIsAWait(session),
      ...failuresAreTold(session),
      ...noPhantomTurns(session),
      ...exitIsKept(session),
      ...toolsRunOnce(session, history),
      ...oneTrace(session),
    ]),
    ...sentToNobody(history, sessions),
    ...noCrossTalk(history, sessions),
    ...oneModelCallAtATime(history),
    ...viewsAreTheFold(history),
    ...nothingElseBroke(history),
  ];
  return { violations, figures: figuresOf(history, sessions, violations) };
}

type Sessions = ReadonlyMap<string, Session>;

function sessionsOf({ events, received }: History): Sessions {
  const streams = new Map<string, LoggedEvent[]>();
  for (const event of events) {
    if (event.stream.startsWith('key-')) continue;
    const stream = streams.get(event.stream);
    if (stream === undefined) streams.set(event.stream, [event]);
    else stream.push(event);
  }
  const sessions = new Map<string, Session>();
  const byPlace = new Map<string, string>();
  for (const [id, stream] of streams) {
    stream.sort((a, b) => a.version - b.version);
    sessions.set(id, { id, events: stream, received: [] });
    const { target, place } = placeOf(stream);
    byPlace.set(`${target} ${place}`, id);
  }
  for (const message of [...received].sort((a, b) => a.at - b.at)) {
    const id = message.session ?? byPlace.get(`${message.target} ${message.place}`);
    const session = id === undefined ? undefined : sessions.get(id);
    (session?.received as Received[] | undefined)?.push(message);
  }
  return sessions;
}

// --- answers to senders

function* acceptedIsDurable({ posts }: History, sessions: Sessions): Violations {
  for (const post of posts) {
    for (const { status, sessionId, at } of taken(post)) {
      const events = sessions.get(sessionId)?.events ?? [];
      const taking = events.find((event) => mentions(event, post.deliveryId));
      if (taking !== undefined && taking.recordedAt > at + CLOCK_MS) {
        yield violation(
          'accepted-is-durable',
          sessionId,
          `${status} to ${post.deliveryId} before it was written`,
        );
      }
      if (taking === undefined) {
        yield violation(
          'accepted-is-durable',
          sessionId,
          `${status} to ${post.deliveryId}, which is not in its stream`,
        );
      }
    }
  }
}

function* oneDeliveryOneSession({ posts }: History, sessions: Sessions): Violations {
  const streamsOf = new Map<string, string[]>();
  for (const { id, events } of sessions.values()) {
    for (const deliveryId of events.flatMap(namedDelivery)) {
      streamsOf.set(deliveryId, [...(streamsOf.get(deliveryId) ?? []), id]);
    }
  }
  for (const post of posts) {
    const told = new Set(taken(post).map(({ sessionId }) => sessionId));
    if (told.size > 1) {
      yield violation(
        'one-delivery-one-session',
        null,
        `${post.deliveryId} was told ${[...told].join(' and ')}`,
      );
    }
    const streams = streamsOf.get(post.deliveryId) ?? [];
    if (streams.length > 1) {
      yield violation(
        'one-delivery-one-session',
        null,
        `${post.deliveryId} was taken by ${streams.join(' and ')}`,
      );
    }
  }
}

function* messagesAreTakenOnce({ messages }: History, sessions: Sessions): Violations {
  const all = [...sessions.values()].flatMap(({ events }) => events);
  for (const { what, text, sessionId } of messages) {
    if (sessionId === null || what === 'cancel') continue;
    const type = what === 'answer' ? 'clarification.answered' : 'turn.requested';
    const times = all.filter(
      (event) => event.type === type && (event.data.answer === text || event.data.input === text),
    ).length;
    if (times !== 1)
      yield violation('accepted-is-durable', sessionId, `${what} "${text}" is in the log ${times} times`);
  }
}

// --- one stream

function* streamIsWhole({ id, events }: Session): Violations {
  let before = 0;
  for (const [index, { version, recordedAt }] of events.entries()) {
    if (version !== index + 1) yield violation('the log', id, `version ${index + 1} is missing`);
    if (recordedAt < before)
      yield violation('the log', id, `version ${version} was recorded before the one before it`);
    before = recordedAt;
  }
  if (events[0]?.type !== 'session.created')
    yield violation('the log', id, `it begins with ${events[0]?.type}`);
}

function* everySessionEnds({ id, events }: Session): Violations {
  const ends = eventsOf(events, 'session.ended');
  if (ends.length !== 1) yield violation('every-session-ends', id, `it has ${ends.length} ends`);
  const end = ends[0];
  if (end === undefined) return;
  for (const { type, version } of events) {
    if (version > end.version && !AFTER_THE_END.test(type)) {
      yield violation('every-session-ends', id, `${type} (${version}) follows its end`);
    }
  }
  const cancelled = end.data.outcome === 'cancelled';
  for (const { data } of eventsOf(events, 'turn.requested')) {
    const finals = eventsOf(events, 'session.final-response').filter(
      (final) => final.data.turn === data.turn,
    ).length;
    if (finals > 1 || (finals === 0 && !cancelled)) {
      yield violation('every-session-ends', id, `turn ${data.turn} has ${finals} final responses`);
    }
  }
  const last = eventsOf(events, 'session.final-response').at(-1);
  if (!cancelled && last !== undefined && last.data.outcome !== end.data.outcome) {
    yield violation('every-session-ends', id, `its last turn ${last.data.outcome}, it ${end.data.outcome}`);
  }
  // No injected fault is a reason to fail: there were enough models, targets and attempts.
  if (end.data.outcome !== 'succeeded' && !cancelled) {
    const why = eventsOf(events, 'run.failed').map((failed) => `${failed.data.code}: ${failed.data.message}`);
    yield violation('every-session-ends', id, `it ended ${end.data.outcome} (${why.join('; ')})`);
  }
  if (cancelled && eventsOf(events, 'run.cancelled').length > 1)
    yield violation('every-session-ends', id, 'cancelled twice');
}

function* oneTrace({ id, events }: Session): Violations {
  const traces = new Set(events.map(({ traceparent }) => traceparent?.split('-')[1] ?? 'none'));
  if (traces.size !== 1 || traces.has('none')) {
    yield violation('one-trace', id, `its events are of ${traces.size} traces: ${[...traces].join(', ')}`);
  }
}

// --- outputs and targets

function* configIsAFact({ id, events, received }: Session): Violations {
  const { target, place } = placeOf(events);
  for (const attempted of eventsOf(events, 'delivery.attempted')) {
    if (attempted.data.target !== target) {
      yield violation('config-is-a-fact', id, `sent to ${attempted.data.target} instead of ${target}`);
    }
  }
  for (const message of received) {
    if (message.target !== target || message.place !== place) {
      yield violation(
        'config-is-a-fact',
        id,
        `reached ${message.target} ${message.place}, meant for ${place}`,
      );
    }
  }
}

function* writtenBeforeSent({ id, events, received }: Session): Violations {
  for (const message of received) {
    const output = outputOf(events, message);
    if (output === undefined) {
      yield violation(
        'written-before-sent',
        id,
        `a target has "${message.text}", which is not an output of this session`,
      );
    } else if (output.recordedAt > message.at + CLOCK_MS) {
      yield violation(
        'written-before-sent',
        id,
        `output ${output.version} was at the target before it was in the log`,
      );
    }
  }
}

function* sentToNobody({ received }: History, sessions: Sessions): Violations {
  const known = new Set([...sessions.values()].flatMap((session) => session.received));
  for (const message of received) {
    if (!known.has(message)) {
      yield violation(
        'written-before-sent',
        message.session,
        `${message.place} has "${message.text}" of no session`,
      );
    }
  }
}

function* inOrder({ id, events, received }: Session): Violations {
  let last = 0;
  for (const message of received) {
    const version = outputOf(events, message)?.version ?? last;
    if (version < last) yield violation('in-order-once', id, `output ${version} came after ${last}`);
    last = version;
  }
  for (const status of eventsOf(events, 'session.interim-status')) {
    const final = eventsOf(events, 'session.final-response').find(
      ({ data }) => data.turn === status.data.turn,
    );
    if (final !== undefined && final.version < status.version) {
      yield violation('in-order-once', id, `status ${status.version} after the final response of its turn`);
    }
  }
}

function* finalOnce({ id, events, received }: Session): Violations {
  for (const final of eventsOf(events, 'session.final-response')) {
    const { version } = final;
    const copies = received.filter((message) => outputOf(events, message)?.version === version);
    const settled = events.filter(({ type, data }) => data.output === version && SETTLES.includes(type));
    const succeeded = settled.filter(({ type }) => type === 'delivery.succeeded').length;
    if (final.data.silent === true) {
      if (copies.length > 0) yield violation('in-order-once', id, `silent output ${version} was sent`);
      continue;
    }
    if (settled.length === 0) yield violation('in-order-once', id, `LOST: output ${version} is not settled`);
    if (succeeded > 1) yield violation('in-order-once', id, `output ${version} succeeded ${succeeded} times`);
    if (succeeded > 0 && copies.length === 0) {
      yield violation(
        'in-order-once',
        id,
        `LOST: output ${version} is recorded as delivered, but no target has it`,
      );
    }
    if (settled.some(({ type }) => type === 'delivery.dropped')) {
      yield violation('in-order-once', id, `LOST: final response ${version} was dropped`);
    }
    const dead = settled.find(({ type }) => type === 'delivery.dead');
    if (dead !== undefined && !mayBeGivenUp(events)) {
      yield violation('in-order-once', id, `LOST: output ${version} was given up: ${dead.data.reason}`);
    }
    const unmarked = copies.slice(1).filter(({ marked }) => !marked).length;
    if (unmarked > 0)
      yield violation('in-order-once', id, `DOUBLED: ${unmarked} further copies of output ${version}`);
  }
}

/** For targets that get the number of the output. At others, two statuses with the same text look the same. */
function* statusesOnce({ id, events, received }: Session): Violations {
  for (const output of events.filter(({ type }) => OUTPUTS.slice(0, 2).includes(type))) {
    const copies = received.filter(({ version }) => version === output.version);
    const unmarked = copies.slice(1).filter(({ marked }) => !marked).length;
    if (unmarked > 0) {
      yield violation('in-order-once', id, `DOUBLED: ${unmarked} further copies of output ${output.version}`);
    }
  }
}

interface Claim {
  readonly output: unknown;
  readonly until: number;
}

/** A claim lasts until its outcome is recorded or its time is over. */
function* oneSenderAtATime({ id, events }: Session): Violations {
  let claim: Claim | null = null;
  for (const { type, version, data, recordedAt } of events) {
    if (!type.startsWith('delivery.') || type === 'delivery.retry-requested') continue;
    const until = recordedAt + 1000 * Number(data.deadline_seconds);
    if (type === 'delivery.attempted') {
      if (claim !== null && recordedAt < claim.until) {
        yield violation(
          'in-order-once',
          id,
          `attempt at ${data.output} (${version}) while one at ${claim.output} is in flight`,
        );
      }
      claim = { output: data.output, until };
    } else if (claim !== null && data.output === claim.output) {
      claim = type === 'delivery.chunk-taken' ? { output: data.output, until } : null;
    }
  }
}

const SETTLES = ['delivery.succeeded', 'delivery.dead', 'delivery.dropped'];

/** A target that answers 410. All others are back before any retry schedule ends. */
function mayBeGivenUp(events: readonly LoggedEvent[]): boolean {
  return String(events[0]?.data.route).startsWith('gone');
}

// --- runs

function* singleOwner({ id, events }: Session): Violations {
  let generation = 0;
  let open: number | null = null;
  for (const { type, version, data } of events) {
    if (type === 'run.started') {
      if (data.generation !== generation + 1) {
        yield violation('single-owner', id, `run ${data.generation} (${version}) follows run ${generation}`);
      }
      generation = Number(data.generation);
      open = generation;
      continue;
    }
    const by = typeof data.generation === 'number' ? data.generation : null;
    // The watcher reports processes at any time, also without a run.
    if (by !== null && type !== 'process.started' && by !== open) {
      yield violation(
        'single-owner',
        id,
        `${type} (${version}) of run ${by} while ${open ?? 'none'} is open`,
      );
    }
    if (CLOSES_RUN.includes(type)) open = null;
  }
}

function* noPhantomTurns({ id, events }: Session): Violations {
  const answered = new Set<unknown>();
  let question: unknown = null;
  let turns = 0;
  let next = 1;
  let ended = false;
  let startAfter = timeOf(events[0]?.data.start_after);
  for (const { type, version, data, recordedAt } of events) {
    const phantom = (what: string) => violation('no-phantom-turns', id, `${type} (${version}): ${what}`);
    switch (type) {
      case 'turn.requested':
        turns += 1;
        if (data.turn !== turns) yield phantom(`it is turn ${turns} but says ${data.turn}`);
        if (ended) yield phantom('the session had ended');
        if (turns === 1) startAfter = timeOf(data.start_after) ?? startAfter;
        break;
      case 'webhook.coalesced':
        if (data.turn === 1) startAfter = timeOf(data.start_after) ?? startAfter;
        break;
      case 'run.started':
        if (ended) yield phantom('the session had ended');
        if (answered.has(data.turn)) yield phantom(`turn ${data.turn} has its final response`);
        else if (data.turn !== next) yield phantom(`turn ${data.turn} before turn ${next}`);
        if (Number(data.turn) > turns) yield phantom(`nobody asked for turn ${data.turn}`);
        if (question !== null) yield phantom('its question is open');
        if (data.turn === 1 && startAfter !== null && recordedAt + CLOCK_MS < startAfter) {
          yield phantom('its window was open');
        }
        break;
      case 'session.final-response':
        if (answered.has(data.turn)) yield phantom(`turn ${data.turn} is answered twice`);
        answered.add(data.turn);
        next = Number(data.turn) + 1;
        break;
      case 'run.cancelled':
        if (typeof data.turn === 'number') next = data.turn + 1;
        break;
      case 'clarification.requested':
        question = data.clarification_id;
        break;
      case 'clarification.answered':
      case 'clarification.timed-out':
      case 'clarification.superseded':
        if (question !== data.clarification_id) yield phantom('that question is not open');
        question = null;
        break;
      case 'session.ended':
        ended = true;
    }
  }
}

/** Two concurrent model calls of one session mean two runs, unless one belongs to a frozen runner that cannot know. */
function* oneModelCallAtATime({ modelCalls, faults }: History): Violations {
  const frozen = faults.filter(({ fault: { kind, ...more } }) => {
    return kind === 'freeze' && 'program' in more && more.program.startsWith('agent-runner');
  });
  const last = new Map<string, { from: number; until: number }>();
  for (const call of [...modelCalls].sort((a, b) => a.from - b.from)) {
    const before = last.get(call.key);
    const until = call.until ?? Number.POSITIVE_INFINITY;
    if (before !== undefined && before.until > call.from + NEWS_MS) {
      const excused = frozen.some((freeze) => freeze.from <= before.until && freeze.until >= before.from);
      if (!excused) {
        yield violation(
          'single-owner',
          null,
          `two model calls at once for ${call.key}, and no runner was frozen`,
        );
      }
    }
    last.set(call.key, { from: call.from, until: Math.max(until, before?.until ?? 0) });
  }
}

// --- commands and processes

function* toolsRunOnce({ id, events }: Session, { effects }: History): Violations {
  for (const type of ['tool.started', 'tool.finished']) {
    for (const [call, times] of counted(eventsOf(events, type).map(({ data }) => data.call_id))) {
      if (times > 1) yield violation('tools run once', id, `DOUBLED: ${times} ${type} of call ${call}`);
    }
  }
  for (const started of eventsOf(events, 'tool.started')) {
    const effect = /effects\/(\S+)/.exec(String(started.data.arguments))?.[1]?.replace(/["'\\;].*/, '');
    if (effect === undefined) continue;
    const finished = eventsOf(events, 'tool.finished').find(
      ({ data }) => data.call_id === started.data.call_id,
    );
    const times = effects.get(effect) ?? 0;
    if (times > 1) yield violation('tools run once', id, `DOUBLED: ${effect} was done ${times} times`);
    if (
      times === 0 &&
      finished?.data.outcome === 'ok' &&
      !/"background":true/.test(String(started.data.arguments))
    ) {
      yield violation('tools run once', id, `LOST: ${effect} is recorded as done, but did not happen`);
    }
  }
}

function* exitIsKept({ id, events }: Session): Violations {
  const end = eventsOf(events, 'session.ended')[0]?.version ?? Number.POSITIVE_INFINITY;
  const notices = eventsOf(events, 'turn.requested').filter(({ data }) => data.source === 'process');
  const known = new Set<unknown>();
  for (const { data } of eventsOf(events, 'process.started')) {
    const process = data.process_id;
    if (known.has(process)) yield violation('exit-is-kept', id, `DOUBLED: ${process} was started twice`);
    known.add(process);
    const about = (type: string) =>
      eventsOf(events, type).filter((event) => event.data.process_id === process);
    const exits = [...about('process.exited'), ...about('process.lost')];
    const exit = exits[0];
    if (exits.length !== 1) yield violation('exit-is-kept', id, `${process} has ${exits.length} ends`);
    if (exit?.type === 'process.lost')
      yield violation('exit-is-kept', id, `LOST: ${process}: ${exit.data.reason}`);
    const code = /exit (\d+)/.exec(String(data.command))?.[1];
    if (exit?.type === 'process.exited' && code !== undefined && exit.data.exit_code !== Number(code)) {
      yield violation('exit-is-kept', id, `${process} exited with ${exit.data.exit_code} instead of ${code}`);
    }
    const told = notices.filter(
      (notice) => (notice.data.notice as Data | null)?.process_id === process,
    ).length;
    const consumed = about('process.completion-consumed').length > 0;
    const wanted = data.notify_on_complete === true && !consumed && exit !== undefined && exit.version < end;
    if (told > 1) yield violation('exit-is-kept', id, `DOUBLED: ${told} notices of ${process}`);
    if (told === 0 && wanted) yield violation('exit-is-kept', id, `LOST: no notice of ${process}`);
    if (told > 0 && !wanted && exit !== undefined)
      yield violation('no-phantom-turns', id, `a notice of ${process}`);
  }
  for (const { data, version } of notices) {
    if (!known.has((data.notice as Data | null)?.process_id)) {
      yield violation('no-phantom-turns', id, `a notice (${version}) of a process that was not started`);
    }
  }
}

// --- the rest

function* noCrossTalk({ posts }: History, sessions: Sessions): Violations {
  for (const post of posts) {
    const sessionId = taken(post)[0]?.sessionId ?? '';
    const session = sessions.get(sessionId);
    if (session === undefined) continue;
    const said = JSON.stringify(session.events.map(({ data }) => data));
    for (const [, key] of said.matchAll(/chaos \w+ (k\d+)/g)) {
      if (key !== post.key)
        yield violation('no cross-talk', sessionId, `${key} is mentioned in the session of ${post.key}`);
    }
    const strange = eventsOf(session.events, 'session.final-response').find(
      ({ data }) => !String(data.text).includes(post.key) && data.outcome === 'succeeded',
    );
    if (strange !== undefined)
      yield violation('no cross-talk', sessionId, `${post.key} was answered "${strange.data.text}"`);
  }
}

function* viewsAreTheFold({ views }: History): Violations {
  if (isDeepStrictEqual(views.actual, views.folded)) return;
  for (const [name, rows] of Object.entries(views.folded as Record<string, unknown[]>)) {
    const actual = (views.actual as Record<string, unknown[]> | null)?.[name] ?? [];
    const differing = rows.findIndex((row, index) => !isDeepStrictEqual(row, actual[index]));
    if (differing < 0 && rows.length === actual.length) continue;
    const [is, should] = [actual[differing], rows[differing]].map((row) =>
      JSON.stringify(row)?.slice(0, 500),
    );
    yield violation(
      'views-are-disposable',
      null,
      `${name}: ${actual.length} rows of ${rows.length}; ${is} is not ${should}`,
    );
  }
}

function* nothingElseBroke({ posts, deadLetters, falls, problems }: History): Violations {
  for (const { deliveryId, answers } of posts) {
    for (const { status } of answers) {
      if (![200, 202, 429, 503, 0].includes(status)) {
        yield violation('no-silent-downgrade', null, `webhook ${deliveryId} was answered ${status}`);
      }
    }
  }
  for (const letter of deadLetters) yield violation('no dead letters', null, letter);
  for (const fall of falls) yield violation('nobody falls over', null, fall);
  for (const problem of problems) yield violation('protocols', null, problem);
}

function figuresOf(history: History, sessions: Sessions, violations: readonly Violation[]): Figures {
  const all = [...sessions.values()];
  const finals = all.flatMap(({ events, received }) =>
    eventsOf(events, 'session.final-response')
      .filter(({ data }) => data.silent !== true)
      .map((final) => {
        const asked = eventsOf(events, 'turn.requested').find(({ data }) => data.turn === final.data.turn);
        const copies = received.filter((message) => outputOf(events, message)?.version === final.version);
        const tookMs = copies[0] === undefined ? null : copies[0].at - (asked?.recordedAt ?? 0);
        return { marked: copies.slice(1).filter(({ marked }) => marked).length, tookMs };
      }),
  );
  const accepted = history.posts.filter((post) => taken(post).length > 0);
  const vanished = accepted.filter((post) => !sessions.has(taken(post)[0]?.sessionId ?? ''));
  const unended = all.filter(({ events }) => eventsOf(events, 'session.ended').length === 0);
  const took = finals.flatMap(({ tookMs }) => (tookMs === null ? [] : [tookMs]));
  return {
    posts: history.posts.length,
    accepted: accepted.length,
    sessions: all.length,
    finals: finals.length,
    lost: vanished.length + unended.length + violations.filter(({ what }) => what.startsWith('LOST')).length,
    doubled: violations.filter(({ what }) => what.startsWith('DOUBLED')).length,
    marked: finals.reduce((sum, { marked }) => sum + marked, 0),
    givenUp: all.flatMap(({ events }) => eventsOf(events, 'delivery.dead')).length,
    late: took.filter((ms) => ms > LATE_MS).length,
    slowestMs: Math.max(0, ...took),
    resumed: all.flatMap(({ events }) => eventsOf(events, 'run.started')).filter(({ data }) => data.resumed)
      .length,
  };
}

// --- reading events

type Data = Readonly<Record<string, unknown>>;

function taken({ answers }: Posted) {
  return answers.filter(({ status }) => status === 200 || status === 202);
}

/** The webhook that an event belongs to. The first turn repeats that of `session.created`. */
function namedDelivery({ type, data }: LoggedEvent): string[] {
  const names =
    type === 'session.created' ||
    type === 'webhook.coalesced' ||
    (type === 'turn.requested' && data.turn !== 1);
  return names && typeof data.delivery_id === 'string' ? [data.delivery_id] : [];
}

function mentions(event: LoggedEvent, deliveryId: string): boolean {
  return namedDelivery(event).includes(deliveryId);
}

/** Where a session's outputs go, from `session.created`. */
function placeOf(events: readonly LoggedEvent[]): { target: string; place: string } {
  const deliver = events[0]?.data.deliver as { target?: string; to?: Data } | undefined;
  const to = deliver?.to ?? {};
  const place = typeof to.url === 'string' ? new URL(to.url).pathname : String(to.chat_id ?? '');
  return { target: deliver?.target ?? '', place };
}

function outputOf(events: readonly LoggedEvent[], { version, text }: Received): LoggedEvent | undefined {
  return events.find(
    (event) =>
      OUTPUTS.includes(event.type) &&
      (version === null || event.version === version) &&
      (event.type === 'clarification.requested'
        ? text.includes(String(event.data.question))
        : event.data.text === text),
  );
}

function timeOf(value: unknown): number | null {
  return typeof value === 'string' ? Date.parse(value) : null;
}

function counted(values: readonly unknown[]): Map<unknown, number> {
  const counts = new Map<unknown, number>();
  for (const value of values) counts.set(value, (counts.get(value) ?? 0) + 1);
  return counts;
}

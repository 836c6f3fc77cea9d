import { isDeepStrictEqual } from 'node:util';
import type { History, LoggedEvent, Posted, Received } from './history.ts';
import { failuresAreTold, resumeIsDerived } from './resumption.ts';
import { type Found, fault, of, type Violation } from './violation.ts';

/**
 * Judges a history by the invariants of DESIGN.md. It knows the events' names and what users were promised, and nothing
 * of how the product folds, decides or delivers: a checker that shared that code would share its mistakes. Only that
 * the views are what the log folds to is a comparison with the product's own fold, made before.
 */
export interface Figures {
  readonly posts: number;
  readonly accepted: number;
  readonly sessions: number;
  readonly finals: number;
  /** Sessions that did not end, and answers that no target has although nobody said that it was given up. */
  readonly lost: number;
  /** Answers, commands and notices that were had twice, without a word that it may be so. */
  readonly doubled: number;
  /** Second copies that say so. */
  readonly marked: number;
  /** Answers given up, with an event that says so: the target refuses them. */
  readonly givenUp: number;
  /** Answers later than LATE_MS after their webhook's or message's turn. */
  readonly late: number;
  readonly slowestMs: number;
  readonly resumed: number;
}

export interface Verdict {
  readonly violations: readonly Violation[];
  readonly figures: Figures;
}

/** Longer than an answer takes when nothing is broken: the slowest kind waits some 5 s for a model and a target. */
export const LATE_MS = 30_000;
/** The kernel's news of a closed connection, on a busy machine. */
const NEWS_MS = 500;
/** A clock that is read before and after the same moment. */
const CLOCK_MS = 50;

/** What a session's stream may still hold after its end: facts that start nothing. */
const AFTER_THE_END = /^(delivery|process)\./;
const OUTPUTS = ['session.interim-status', 'clarification.requested', 'session.final-response'];
/** After these nobody is at work on the turn. */
const CLOSES_RUN = [
  'session.final-response',
  'clarification.requested',
  'run.interrupted',
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

// --- what senders were told

function* acceptedIsDurable({ posts }: History, sessions: Sessions): Found {
  for (const post of posts) {
    for (const { status, sessionId, at } of taken(post)) {
      const events = sessions.get(sessionId)?.events ?? [];
      const taking = events.find((event) => mentions(event, post.deliveryId));
      if (taking !== undefined && taking.recordedAt > at + CLOCK_MS) {
        yield fault(
          'accepted-is-durable',
          sessionId,
          `${status} to ${post.deliveryId} before it was written`,
        );
      }
      if (taking === undefined) {
        yield fault(
          'accepted-is-durable',
          sessionId,
          `${status} to ${post.deliveryId}, which is not in its stream`,
        );
      }
    }
  }
}

function* oneDeliveryOneSession({ posts }: History, sessions: Sessions): Found {
  const streamsOf = new Map<string, string[]>();
  for (const { id, events } of sessions.values()) {
    for (const deliveryId of events.flatMap(namedDelivery)) {
      streamsOf.set(deliveryId, [...(streamsOf.get(deliveryId) ?? []), id]);
    }
  }
  for (const post of posts) {
    const told = new Set(taken(post).map(({ sessionId }) => sessionId));
    if (told.size > 1) {
      yield fault('one-delivery-one-session', null, `${post.deliveryId} was told ${[...told].join(' and ')}`);
    }
    const streams = streamsOf.get(post.deliveryId) ?? [];
    if (streams.length > 1) {
      yield fault(
        'one-delivery-one-session',
        null,
        `${post.deliveryId} was taken by ${streams.join(' and ')}`,
      );
    }
  }
}

function* messagesAreTakenOnce({ messages }: History, sessions: Sessions): Found {
  const all = [...sessions.values()].flatMap(({ events }) => events);
  for (const { what, text, sessionId } of messages) {
    if (sessionId === null || what === 'cancel') continue;
    const type = what === 'answer' ? 'clarification.answered' : 'turn.requested';
    const times = all.filter(
      (event) => event.type === type && (event.data.answer === text || event.data.input === text),
    ).length;
    if (times !== 1)
      yield fault('accepted-is-durable', sessionId, `${what} "${text}" is in the log ${times} times`);
  }
}

// --- one stream by itself

function* streamIsWhole({ id, events }: Session): Found {
  let before = 0;
  for (const [index, { version, recordedAt }] of events.entries()) {
    if (version !== index + 1) yield fault('the log', id, `version ${index + 1} is missing`);
    if (recordedAt < before)
      yield fault('the log', id, `version ${version} was recorded before the one before it`);
    before = recordedAt;
  }
  if (events[0]?.type !== 'session.created') yield fault('the log', id, `it begins with ${events[0]?.type}`);
}

function* everySessionEnds({ id, events }: Session): Found {
  const ends = of(events, 'session.ended');
  if (ends.length !== 1) yield fault('every-session-ends', id, `it has ${ends.length} ends`);
  const end = ends[0];
  if (end === undefined) return;
  for (const { type, version } of events) {
    if (version > end.version && !AFTER_THE_END.test(type)) {
      yield fault('every-session-ends', id, `${type} (${version}) follows its end`);
    }
  }
  const cancelled = end.data.outcome === 'cancelled';
  for (const { data } of of(events, 'turn.requested')) {
    const finals = of(events, 'session.final-response').filter(
      (final) => final.data.turn === data.turn,
    ).length;
    if (finals > 1 || (finals === 0 && !cancelled)) {
      yield fault('every-session-ends', id, `turn ${data.turn} has ${finals} final responses`);
    }
  }
  const last = of(events, 'session.final-response').at(-1);
  if (!cancelled && last !== undefined && last.data.outcome !== end.data.outcome) {
    yield fault('every-session-ends', id, `its last turn ${last.data.outcome}, it ${end.data.outcome}`);
  }
  // Nothing that was injected is a reason to fail: models, targets and attempts enough were there.
  if (end.data.outcome !== 'succeeded' && !cancelled) {
    const why = of(events, 'run.failed').map((failed) => `${failed.data.code}: ${failed.data.message}`);
    yield fault('every-session-ends', id, `it ended ${end.data.outcome} (${why.join('; ')})`);
  }
  if (cancelled && of(events, 'run.cancelled').length > 1)
    yield fault('every-session-ends', id, 'cancelled twice');
}

function* oneTrace({ id, events }: Session): Found {
  const traces = new Set(events.map(({ traceparent }) => traceparent?.split('-')[1] ?? 'none'));
  if (traces.size !== 1 || traces.has('none')) {
    yield fault('one-trace', id, `its events are of ${traces.size} traces: ${[...traces].join(', ')}`);
  }
}

// --- outputs and targets

function* configIsAFact({ id, events, received }: Session): Found {
  const { target, place } = placeOf(events);
  for (const attempted of of(events, 'delivery.attempted')) {
    if (attempted.data.target !== target) {
      yield fault('config-is-a-fact', id, `sent to ${attempted.data.target} instead of ${target}`);
    }
  }
  for (const message of received) {
    if (message.target !== target || message.place !== place) {
      yield fault('config-is-a-fact', id, `reached ${message.target} ${message.place}, meant for ${place}`);
    }
  }
}

function* writtenBeforeSent({ id, events, received }: Session): Found {
  for (const message of received) {
    const output = outputOf(events, message);
    if (output === undefined) {
      yield fault('written-before-sent', id, `a target has "${message.text}", which is no output of it`);
    } else if (output.recordedAt > message.at + CLOCK_MS) {
      yield fault(
        'written-before-sent',
        id,
        `output ${output.version} was at the target before it was in the log`,
      );
    }
  }
}

function* sentToNobody({ received }: History, sessions: Sessions): Found {
  const known = new Set([...sessions.values()].flatMap((session) => session.received));
  for (const message of received) {
    if (!known.has(message)) {
      yield fault(
        'written-before-sent',
        message.session,
        `${message.place} has "${message.text}" of no session`,
      );
    }
  }
}

function* inOrder({ id, events, received }: Session): Found {
  let last = 0;
  for (const message of received) {
    const version = outputOf(events, message)?.version ?? last;
    if (version < last) yield fault('in-order-once', id, `output ${version} came after ${last}`);
    last = version;
  }
  for (const status of of(events, 'session.interim-status')) {
    const final = of(events, 'session.final-response').find(({ data }) => data.turn === status.data.turn);
    if (final !== undefined && final.version < status.version) {
      yield fault('in-order-once', id, `status ${status.version} after the final response of its turn`);
    }
  }
}

function* finalOnce({ id, events, received }: Session): Found {
  for (const final of of(events, 'session.final-response')) {
    const { version } = final;
    const copies = received.filter((message) => outputOf(events, message)?.version === version);
    const settled = events.filter(({ type, data }) => data.output === version && SETTLES.includes(type));
    const succeeded = settled.filter(({ type }) => type === 'delivery.succeeded').length;
    if (final.data.silent === true) {
      if (copies.length > 0) yield fault('in-order-once', id, `silent output ${version} was sent`);
      continue;
    }
    if (settled.length === 0) yield fault('in-order-once', id, `LOST: output ${version} is not settled`);
    if (succeeded > 1) yield fault('in-order-once', id, `output ${version} succeeded ${succeeded} times`);
    if (succeeded > 0 && copies.length === 0) {
      yield fault(
        'in-order-once',
        id,
        `LOST: output ${version} is said to be delivered, and no target has it`,
      );
    }
    if (settled.some(({ type }) => type === 'delivery.dropped')) {
      yield fault('in-order-once', id, `LOST: final response ${version} was dropped`);
    }
    const dead = settled.find(({ type }) => type === 'delivery.dead');
    if (dead !== undefined && !mayBeGivenUp(events)) {
      yield fault('in-order-once', id, `LOST: output ${version} was given up: ${dead.data.reason}`);
    }
    const unmarked = copies.slice(1).filter(({ marked }) => !marked).length;
    if (unmarked > 0)
      yield fault('in-order-once', id, `DOUBLED: ${unmarked} further copies of output ${version}`);
  }
}

/** Where the target is told which output it is. Elsewhere two statuses with one text cannot be told apart. */
function* statusesOnce({ id, events, received }: Session): Found {
  for (const output of events.filter(({ type }) => OUTPUTS.slice(0, 2).includes(type))) {
    const copies = received.filter(({ version }) => version === output.version);
    const unmarked = copies.slice(1).filter(({ marked }) => !marked).length;
    if (unmarked > 0) {
      yield fault('in-order-once', id, `DOUBLED: ${unmarked} further copies of output ${output.version}`);
    }
  }
}

interface Claim {
  readonly output: unknown;
  readonly until: number;
}

/** A claim is held until its outcome is recorded or its time is over. */
function* oneSenderAtATime({ id, events }: Session): Found {
  let claim: Claim | null = null;
  for (const { type, version, data, recordedAt } of events) {
    if (!type.startsWith('delivery.') || type === 'delivery.retry-requested') continue;
    const until = recordedAt + 1000 * Number(data.deadline_seconds);
    if (type === 'delivery.attempted') {
      if (claim !== null && recordedAt < claim.until) {
        yield fault(
          'in-order-once',
          id,
          `attempt at ${data.output} (${version}) while one at ${claim.output} is under way`,
        );
      }
      claim = { output: data.output, until };
    } else if (claim !== null && data.output === claim.output) {
      claim = type === 'delivery.chunk-taken' ? { output: data.output, until } : null;
    }
  }
}

const SETTLES = ['delivery.succeeded', 'delivery.dead', 'delivery.dropped'];

/** A target that says 410. All others are there again before anybody's schedule is over. */
function mayBeGivenUp(events: readonly LoggedEvent[]): boolean {
  return String(events[0]?.data.route).startsWith('gone');
}

// --- runs

function* singleOwner({ id, events }: Session): Found {
  let generation = 0;
  let open: number | null = null;
  for (const { type, version, data } of events) {
    if (type === 'run.started') {
      if (data.generation !== generation + 1) {
        yield fault('single-owner', id, `run ${data.generation} (${version}) follows run ${generation}`);
      }
      generation = Number(data.generation);
      open = generation;
      continue;
    }
    const by = typeof data.generation === 'number' ? data.generation : null;
    // A process is told of by the watcher, whenever it is there.
    if (by !== null && type !== 'process.started' && by !== open) {
      yield fault('single-owner', id, `${type} (${version}) of run ${by} while ${open ?? 'none'} is open`);
    }
    if (CLOSES_RUN.includes(type)) open = null;
  }
}

function* noPhantomTurns({ id, events }: Session): Found {
  const answered = new Set<unknown>();
  let question: unknown = null;
  let turns = 0;
  let next = 1;
  let ended = false;
  let startAfter = timeOf(events[0]?.data.start_after);
  for (const { type, version, data, recordedAt } of events) {
    const phantom = (what: string) => fault('no-phantom-turns', id, `${type} (${version}): ${what}`);
    switch (type) {
      case 'turn.requested':
        turns += 1;
        if (data.turn !== turns) yield phantom(`it is the ${turns}. turn and says ${data.turn}`);
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

/** Two model calls of one session at once are two runs, unless one is of a runner that was frozen and cannot know. */
function* oneModelCallAtATime({ modelCalls, faults }: History): Found {
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
        yield fault('single-owner', null, `two model calls at once for ${call.key}, no runner being frozen`);
      }
    }
    last.set(call.key, { from: call.from, until: Math.max(until, before?.until ?? 0) });
  }
}

// --- commands and processes

function* toolsRunOnce({ id, events }: Session, { effects }: History): Found {
  for (const type of ['tool.started', 'tool.finished']) {
    for (const [call, times] of counted(of(events, type).map(({ data }) => data.call_id))) {
      if (times > 1) yield fault('tools run once', id, `DOUBLED: ${times} ${type} of call ${call}`);
    }
  }
  for (const started of of(events, 'tool.started')) {
    const effect = /effects\/(\S+)/.exec(String(started.data.arguments))?.[1]?.replace(/["'\\;].*/, '');
    if (effect === undefined) continue;
    const finished = of(events, 'tool.finished').find(({ data }) => data.call_id === started.data.call_id);
    const times = effects.get(effect) ?? 0;
    if (times > 1) yield fault('tools run once', id, `DOUBLED: ${effect} was done ${times} times`);
    if (
      times === 0 &&
      finished?.data.outcome === 'ok' &&
      !/"background":true/.test(String(started.data.arguments))
    ) {
      yield fault('tools run once', id, `LOST: ${effect} is said to be done`);
    }
  }
}

function* exitIsKept({ id, events }: Session): Found {
  const end = of(events, 'session.ended')[0]?.version ?? Number.POSITIVE_INFINITY;
  const notices = of(events, 'turn.requested').filter(({ data }) => data.source === 'process');
  const known = new Set<unknown>();
  for (const { data } of of(events, 'process.started')) {
    const process = data.process_id;
    if (known.has(process)) yield fault('exit-is-kept', id, `DOUBLED: ${process} was started twice`);
    known.add(process);
    const about = (type: string) => of(events, type).filter((event) => event.data.process_id === process);
    const exits = [...about('process.exited'), ...about('process.lost')];
    const exit = exits[0];
    if (exits.length !== 1) yield fault('exit-is-kept', id, `${process} has ${exits.length} ends`);
    if (exit?.type === 'process.lost')
      yield fault('exit-is-kept', id, `LOST: ${process}: ${exit.data.reason}`);
    const code = /exit (\d+)/.exec(String(data.command))?.[1];
    if (exit?.type === 'process.exited' && code !== undefined && exit.data.exit_code !== Number(code)) {
      yield fault('exit-is-kept', id, `${process} exited with ${exit.data.exit_code} instead of ${code}`);
    }
    const told = notices.filter(
      (notice) => (notice.data.notice as Data | null)?.process_id === process,
    ).length;
    const consumed = about('process.completion-consumed').length > 0;
    const wanted = data.notify_on_complete === true && !consumed && exit !== undefined && exit.version < end;
    if (told > 1) yield fault('exit-is-kept', id, `DOUBLED: ${told} notices of ${process}`);
    if (told === 0 && wanted) yield fault('exit-is-kept', id, `LOST: no notice of ${process}`);
    if (told > 0 && !wanted && exit !== undefined)
      yield fault('no-phantom-turns', id, `a notice of ${process}`);
  }
  for (const { data, version } of notices) {
    if (!known.has((data.notice as Data | null)?.process_id)) {
      yield fault('no-phantom-turns', id, `a notice (${version}) of a process that was not started`);
    }
  }
}

// --- the rest

function* noCrossTalk({ posts }: History, sessions: Sessions): Found {
  for (const post of posts) {
    const sessionId = taken(post)[0]?.sessionId ?? '';
    const session = sessions.get(sessionId);
    if (session === undefined) continue;
    const said = JSON.stringify(session.events.map(({ data }) => data));
    for (const [, key] of said.matchAll(/chaos \w+ (k\d+)/g)) {
      if (key !== post.key)
        yield fault('no cross-talk', sessionId, `${key} is spoken of in the session of ${post.key}`);
    }
    const strange = of(session.events, 'session.final-response').find(
      ({ data }) => !String(data.text).includes(post.key) && data.outcome === 'succeeded',
    );
    if (strange !== undefined)
      yield fault('no cross-talk', sessionId, `${post.key} was answered "${strange.data.text}"`);
  }
}

function* viewsAreTheFold({ views }: History): Found {
  if (isDeepStrictEqual(views.actual, views.folded)) return;
  for (const [name, rows] of Object.entries(views.folded as Record<string, unknown[]>)) {
    const actual = (views.actual as Record<string, unknown[]> | null)?.[name] ?? [];
    const differing = rows.findIndex((row, index) => !isDeepStrictEqual(row, actual[index]));
    if (differing < 0 && rows.length === actual.length) continue;
    const [is, should] = [actual[differing], rows[differing]].map((row) =>
      JSON.stringify(row)?.slice(0, 500),
    );
    yield fault(
      'views-are-disposable',
      null,
      `${name}: ${actual.length} rows of ${rows.length}; ${is} is not ${should}`,
    );
  }
}

function* nothingElseBroke({ posts, deadLetters, falls, problems }: History): Found {
  for (const { deliveryId, answers } of posts) {
    for (const { status } of answers) {
      if (![200, 202, 429, 503, 0].includes(status)) {
        yield fault('no-silent-downgrade', null, `webhook ${deliveryId} was answered ${status}`);
      }
    }
  }
  for (const letter of deadLetters) yield fault('no dead letters', null, letter);
  for (const fall of falls) yield fault('nobody falls over', null, fall);
  for (const problem of problems) yield fault('protocols', null, problem);
}

function figuresOf(history: History, sessions: Sessions, violations: readonly Violation[]): Figures {
  const all = [...sessions.values()];
  const finals = all.flatMap(({ events, received }) =>
    of(events, 'session.final-response')
      .filter(({ data }) => data.silent !== true)
      .map((final) => {
        const asked = of(events, 'turn.requested').find(({ data }) => data.turn === final.data.turn);
        const copies = received.filter((message) => outputOf(events, message)?.version === final.version);
        const tookMs = copies[0] === undefined ? null : copies[0].at - (asked?.recordedAt ?? 0);
        return { marked: copies.slice(1).filter(({ marked }) => marked).length, tookMs };
      }),
  );
  const accepted = history.posts.filter((post) => taken(post).length > 0);
  const vanished = accepted.filter((post) => !sessions.has(taken(post)[0]?.sessionId ?? ''));
  const unended = all.filter(({ events }) => of(events, 'session.ended').length === 0);
  const took = finals.flatMap(({ tookMs }) => (tookMs === null ? [] : [tookMs]));
  return {
    posts: history.posts.length,
    accepted: accepted.length,
    sessions: all.length,
    finals: finals.length,
    lost: vanished.length + unended.length + violations.filter(({ what }) => what.startsWith('LOST')).length,
    doubled: violations.filter(({ what }) => what.startsWith('DOUBLED')).length,
    marked: finals.reduce((sum, { marked }) => sum + marked, 0),
    givenUp: all.flatMap(({ events }) => of(events, 'delivery.dead')).length,
    late: took.filter((ms) => ms > LATE_MS).length,
    slowestMs: Math.max(0, ...took),
    resumed: all.flatMap(({ events }) => of(events, 'run.started')).filter(({ data }) => data.resumed).length,
  };
}

// --- words

type Data = Readonly<Record<string, unknown>>;

function taken({ answers }: Posted) {
  return answers.filter(({ status }) => status === 200 || status === 202);
}

/** The webhook that an event took in. The first turn names that of `session.created` again. */
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

/** Where a session's outputs go, as `session.created` says. */
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

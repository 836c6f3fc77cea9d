import { describe, expect, it } from '@jest/globals';
import { type GivenFact, given, START } from '../../testing/given-when-then.ts';
import {
  answered,
  asked,
  attempted,
  created,
  ended,
  exited,
  failed,
  interim,
  interrupted,
  modelAsked,
  modelSaid,
  processStarted,
  runStarted,
  toolFinished,
  toolStarted,
  turn,
} from '../../testing/sample-facts.ts';
import { fact } from '../decision.ts';
import { fold } from '../evolve.ts';
import { agenda } from '../recovery/agenda.ts';
import { iso } from '../time.ts';
import { projectSession } from './project-session.ts';
import { sessionSummary } from './session-summary.ts';

const due = (facts: readonly GivenFact[]) => agenda(given(facts).state);
const running = [created(), turn(1), runStarted(1)];
const delivered = (output: number) => fact('delivery.succeeded', { output, attempt: 1, receipt: 'm-1' });
/** Time of the n-th event of a history that says no other. */
const at = (n: number) => START + (n - 1) * 1000;

describe('the agenda of a session', () => {
  it('a queued turn is due since it came, or when its window closes', () => {
    expect(due([created(), turn(1)])).toEqual({
      run: at(2),
      running: false,
      delivery: null,
      process: null,
      settled: false,
    });
    expect(due([created({ start_after: iso(START + 30_000) }), turn(1)]).run).toBe(START + 30_000);
  });

  it('a run under way is due at no time: its lease says whether it lives', () => {
    expect(due(running)).toMatchObject({ run: null, running: true });
  });

  it('an interrupted one is due since then', () => {
    expect(due([...running, interrupted(1)])).toMatchObject({ run: at(4), running: false });
  });

  it('a queued turn is due since the one before it was answered', () => {
    expect(due([...running, turn(2), answered()]).run).toBe(at(5));
  });

  it('a question is due at its deadline, and at once when it is answered', () => {
    const open = [...running, modelAsked(['ask-1']), asked(START + 60_000)];
    expect(due(open).run).toBe(START + 60_000);
    const answer = fact('clarification.answered', { clarification_id: 'q-1', answer: 'x', by: 'api' });
    expect(due([...open, answer]).run).toBe(at(6));
  });

  it('a watched process is due when its wait is over', () => {
    const waiting = [
      ...running,
      modelAsked(['c-1']),
      toolStarted('c-1'),
      processStarted('p', { wait_deadline: iso(START + 60_000) }),
      toolFinished('c-1'),
      answered(),
    ];
    expect(due(waiting)).toMatchObject({ run: START + 60_000, running: false });
  });

  it('a call for the watcher is due since it was started, until it has its result', () => {
    const open = [...running, modelAsked(['c-1']), toolStarted('c-1')];
    expect(due(open).process).toBe(at(5));
    expect(due([...open, toolFinished('c-1')]).process).toBeNull();
  });

  it('an output is due at once, at the deadline of its attempt, at its retry', () => {
    const said = [...running, answered(), ended()];
    expect(due(said).delivery).toBe(at(4));
    expect(due([...said, attempted(4)]).delivery).toBe(at(6) + 30_000);
    expect(due([...said, attempted(4), failed(4, START + 60_000)]).delivery).toBe(START + 60_000);
    expect(due([...said, attempted(4), delivered(4)])).toMatchObject({ delivery: null, settled: true });
  });

  it('a status that is to be dropped is due at once, though its retry is later', () => {
    const facts = [...running, interim('x'), attempted(4), failed(4, START + 60_000), answered()];
    expect(due(facts).delivery).toBe(at(7));
  });

  it('is settled with the last delivery and the last process, and dead deliveries do not hinder it', () => {
    const dead = fact('delivery.dead', { output: 4, attempt: 0, reason: 'x' });
    expect(due([...running, answered(), ended(), dead]).settled).toBe(true);
    const process = processStarted('p', { notify_on_complete: false });
    const alive = [...running, modelAsked(['c-1']), process, answered('', { silent: true }), ended()];
    expect(due(alive).settled).toBe(false);
    expect(due([...alive, exited('p')]).settled).toBe(true);
  });
});

describe('a session as the API shows it', () => {
  const id = '0f8fad5b-d9cb-469f-a165-70867728950e';

  it('A7: has its whole id, its title, where it delivers, what is left to deliver, and its trace', () => {
    const events = given([
      ...running,
      interim('x'),
      modelSaid('the answer'),
      answered(),
      ended(),
      attempted(4),
      delivered(4),
    ]).events.map((event, i) =>
      i === 0
        ? { ...event, meta: { traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01' } }
        : event,
    );
    expect(sessionSummary(id, fold(events))).toEqual({
      id,
      title: 'An alert',
      route: 'alerts',
      event: 'alert',
      delivery_id: 'd-1',
      status: 'ended',
      outcome: 'succeeded',
      end_reason: 'webhook_complete',
      created_at: iso(at(1)),
      last_activity_at: iso(at(9)),
      ended_at: iso(at(7)),
      generation: 1,
      version: 9,
      model: 'main',
      usage: { input_tokens: 10, output_tokens: 5 },
      deliver: { target: 'telegram', to: { chat_id: '1', message_thread_id: '42' } },
      deliveries: { pending: 1, delivered: 1, dead: 0, dropped: 0 },
      processes: [],
      trace_id: '0af7651916cd43dd8448eb211c80319c',
    });
  });

  it('is null where there is none', () => {
    expect(sessionSummary(id, fold([]))).toBeNull();
  });

  it.each([
    ['queued', [created(), turn(1)]],
    ['running', running],
    ['queued', [...running, interrupted(1)]],
    ['waiting', [...running, modelAsked(['ask-1']), asked(START)]],
    ['waiting', [...running, modelAsked(['c-1']), toolStarted('c-1'), processStarted('p'), answered()]],
    ['ended', [...running, answered(), ended()]],
  ])('is %s', (status, facts) => {
    expect(sessionSummary(id, given(facts).state)?.status).toBe(status);
  });
});

describe('the projection', () => {
  const { events } = given([
    ...running,
    interim('x'),
    modelAsked(['c-1']),
    toolStarted('c-1'),
    processStarted('p'),
    toolFinished('c-1'),
    answered(),
    attempted(4),
    delivered(4),
    attempted(9),
    failed(9, START + 60_000),
    exited('p', { exit_code: 0 }),
  ]);

  it('has a row for the session, and for each delivery and process', () => {
    const views = projectSession(null, events);
    expect(views.session).toMatchObject({ version: 14, route: 'alerts', status: 'waiting', settled: false });
    expect(views.deliveries).toMatchObject([
      { output: 4, status: 'delivered', attempts: 1, dueAt: null, detail: { receipt: 'm-1' } },
      { output: 9, status: 'pending', attempts: 1, dueAt: START + 60_000, detail: { reason: '503' } },
    ]);
    expect(views.processes).toMatchObject([{ processId: 'p', status: 'exited', detail: { exit_code: 0 } }]);
  });

  it('views-are-disposable: comes out the same in whatever portions the events come', () => {
    const whole = projectSession(null, events);
    const deliveries = new Map<number, unknown>();
    const processes = new Map<string, unknown>();
    let previous: unknown = null;
    let session: unknown = null;
    for (const event of events) {
      const views = projectSession(previous, [event]);
      previous = JSON.parse(JSON.stringify(views.state));
      session = views.session;
      for (const row of views.deliveries) deliveries.set(row.output, row);
      for (const row of views.processes) processes.set(row.processId, row);
    }
    expect(previous).toEqual(whole.state);
    expect(session).toEqual(whole.session);
    expect([...deliveries.values()]).toEqual(whole.deliveries);
    expect([...processes.values()]).toEqual(whole.processes);
  });

  it('has no row for a silent answer', () => {
    expect(
      projectSession(null, given([...running, answered('', { silent: true })]).events).deliveries,
    ).toEqual([]);
  });

  it('an event type that it does not know moves the version and nothing else', () => {
    const before = fold(events);
    const after = fold([...events, { type: 'session.summarised', data: {}, version: 15, recordedAt: START }]);
    expect(after).toEqual({ ...before, version: 15, lastActivityAt: START });
  });
});

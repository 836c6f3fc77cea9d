import { describe, expect, it } from '@jest/globals';
import { given, START } from '../../testing/given-when-then.ts';
import {
  answered,
  asked,
  attempted,
  created,
  exited,
  failed,
  interim,
  modelAsked,
  processStarted,
  putOff,
  runStarted,
  toolFinished,
  toolStarted,
  turn,
} from '../../testing/sample-facts.ts';
import { fact } from '../decision.ts';
import { fold } from '../evolve.ts';
import { projectSession } from './project-session.ts';

const running = [created(), turn(1), runStarted(1)];
const delivered = (output: number) => fact('delivery.succeeded', { output, attempt: 1, receipt: 'm-1' });

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

  it('has the failure that the session shows, also while it waits for a model', () => {
    const waiting = given([...running, putOff(1, START)]);
    expect(projectSession(null, waiting.events).session.failure).toBe('unavailable');
    expect(projectSession(null, waiting.and([runStarted(2)]).events).session.failure).toBeNull();
  });

  it('has what the session waits for and since when, and what happens meanwhile changes neither', () => {
    const asks = given([...running, modelAsked(['ask-1']), asked(START + 3_600_000)]);
    const { recordedAt } = asks.events.at(-1) ?? {};
    for (const { events: some } of [asks, asks.and([attempted(5), delivered(5)])]) {
      expect(projectSession(null, some).session).toMatchObject({
        waitingFor: 'person',
        waitingSince: recordedAt,
      });
    }
    expect(projectSession(null, given([...running, putOff(1, START)]).events).session.waitingFor).toBe(
      'model',
    );
    expect(projectSession(null, events).session.waitingFor).toBe('process');
    const none = { waitingFor: null, waitingSince: null };
    expect(projectSession(null, given(running).events).session).toMatchObject(none);
  });

  it('views-are-disposable: the rows do not depend on how the events are split into batches', () => {
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

  it('an unknown event type changes the version and nothing else', () => {
    const before = fold(events);
    const after = fold([...events, { type: 'session.summarised', data: {}, version: 15, recordedAt: START }]);
    expect(after).toEqual({ ...before, version: 15, lastActivityAt: START });
  });
});

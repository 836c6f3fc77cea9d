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
  processStarted,
  putOff,
  runStarted,
  toolFinished,
  toolStarted,
  turn,
} from '../../testing/sample-facts.ts';
import { fact } from '../decision.ts';
import { iso } from '../time.ts';
import { agenda } from './agenda.ts';

const due = (facts: readonly GivenFact[]) => agenda(given(facts).state);
const running = [created(), turn(1), runStarted(1)];
const delivered = (output: number) => fact('delivery.succeeded', { output, attempt: 1, receipt: 'm-1' });
/** Time of the n-th event of a history with default times. */
const at = (n: number) => START + (n - 1) * 1000;

describe('the agenda of a session', () => {
  it('a queued turn is due since it was requested, or when its window closes', () => {
    expect(due([created(), turn(1)])).toEqual({
      run: at(2),
      running: false,
      delivery: null,
      process: null,
      settled: false,
    });
    expect(due([created({ start_after: iso(START + 30_000) }), turn(1)]).run).toBe(START + 30_000);
  });

  it('an open run is never due: its lease says whether it is alive', () => {
    expect(due(running)).toMatchObject({ run: null, running: true });
  });

  it('an interrupted run is due since the interruption', () => {
    expect(due([...running, interrupted(1)])).toMatchObject({ run: at(4), running: false });
  });

  it('a run that was put off is due at its retry, whatever was delivered meanwhile', () => {
    const waiting = [...running, interim('busy'), putOff(1, START + 60_000)];
    expect(due(waiting)).toMatchObject({ run: START + 60_000, running: false });
    expect(due([...waiting, attempted(4), delivered(4)]).run).toBe(START + 60_000);
    expect(due([...waiting, runStarted(2)])).toMatchObject({ run: null, running: true });
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

  it('a watched process is due when the session stops waiting for it', () => {
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

  it('a call for the watcher is due from its start until it has a result', () => {
    const open = [...running, modelAsked(['c-1']), toolStarted('c-1')];
    expect(due(open).process).toBe(at(5));
    expect(due([...open, toolFinished('c-1')]).process).toBeNull();
  });

  it('an output is due at once, at the deadline of its attempt, or at its retry', () => {
    const said = [...running, answered(), ended()];
    expect(due(said).delivery).toBe(at(4));
    expect(due([...said, attempted(4)]).delivery).toBe(at(6) + 30_000);
    expect(due([...said, attempted(4), failed(4, START + 60_000)]).delivery).toBe(START + 60_000);
    expect(due([...said, attempted(4), delivered(4)])).toMatchObject({ delivery: null, settled: true });
  });

  it('a status that will be dropped is due at once, although its retry is later', () => {
    const facts = [...running, interim('x'), attempted(4), failed(4, START + 60_000), answered()];
    expect(due(facts).delivery).toBe(at(7));
  });

  it('is settled after the last delivery and the last process; dead deliveries do not prevent it', () => {
    const dead = fact('delivery.dead', { output: 4, attempt: 0, reason: 'x' });
    expect(due([...running, answered(), ended(), dead]).settled).toBe(true);
    const process = processStarted('p', { notify_on_complete: false });
    const alive = [...running, modelAsked(['c-1']), process, answered('', { silent: true }), ended()];
    expect(due(alive).settled).toBe(false);
    expect(due([...alive, exited('p')]).settled).toBe(true);
  });
});

import { describe, expect, it } from '@jest/globals';
import { type GivenFact, recorded, START } from '../../testing/given-when-then.ts';
import {
  answered,
  asked,
  created,
  ended,
  exited,
  interrupted,
  modelAsked,
  processStarted,
  putOff,
  runStarted,
  toolStarted,
  turn,
} from '../../testing/sample-facts.ts';
import { fact } from '../decision.ts';
import { evolveAll, stateAfter } from '../evolve.ts';
import { initialState } from '../state.ts';
import { endedWait, type Wait, waitOf } from './waits.ts';

/** The waits that end in a history, with the event that ends them. Its events are one second apart. */
function waits(facts: readonly GivenFact[]): (Wait & { readonly until: number; readonly by: string })[] {
  const found = [];
  let state = initialState();
  for (const event of recorded([], facts)) {
    const after = evolveAll(state, [event]);
    const wait = endedWait(state, after);
    if (wait !== null) found.push({ ...wait, until: event.recordedAt, by: event.type });
    state = after;
  }
  return found;
}

const summary = (facts: readonly GivenFact[]) =>
  waits(facts).map(({ for: what, since, until, by }) => [what, since, until, by]);
const at = (event: number) => recorded([], Array(event).fill(turn(1))).at(-1)?.recordedAt;

describe('what a session waits for', () => {
  it('is a runner, from the request until a run starts, also after an interruption', () => {
    expect(
      summary([created(), turn(1), runStarted(1), interrupted(1), runStarted(2, { resumed: true })]),
    ).toEqual([
      ['queue', at(2), at(3), 'run.started'],
      ['queue', at(4), at(5), 'run.started'],
    ]);
  });

  it('is the answer of a person, from the question until whatever closes it', () => {
    const question = [
      created(),
      turn(1),
      runStarted(1),
      modelAsked(['ask-1']),
      asked(START + 60_000, { clarification_id: 'q-1' }),
    ];
    const answer = fact('clarification.answered', { clarification_id: 'q-1', answer: 'yes', by: 'api' });
    expect(summary([...question, answer])).toContainEqual(['person', at(5), at(6), 'clarification.answered']);
    const cancelled = [...question, fact('run.cancelled', { generation: null, turn: 1, by: 'api' }), ended()];
    expect(summary(cancelled)).toContainEqual(['person', at(5), at(6), 'run.cancelled']);
  });

  it('is a model, from each put-off until the next run, without a hole between them', () => {
    expect(
      summary([
        created(),
        turn(1),
        runStarted(1),
        putOff(1, START + 60_000),
        runStarted(2),
        putOff(2, START + 90_000),
        fact('run.cancelled', { generation: null, turn: 1, by: 'api' }),
      ]),
    ).toEqual([
      ['queue', at(2), at(3), 'run.started'],
      ['model', at(4), at(5), 'run.started'],
      ['model', at(6), at(7), 'run.cancelled'],
    ]);
    // Put off again in one append, because the model is known to be down: the first wait ends, the next begins.
    const waiting = evolveAll(
      initialState(),
      recorded([], [created(), turn(1), runStarted(1), putOff(1, START + 60_000)]),
    );
    const again = stateAfter(waiting, [runStarted(2), putOff(2, START + 90_000)]);
    expect(endedWait(waiting, again)).toMatchObject({ for: 'model', since: at(4) });
    expect(waitOf(again)).toMatchObject({ for: 'model' });
  });

  it('is a process, from the answer of the last turn until the process ends', () => {
    const background = [
      created(),
      turn(1),
      runStarted(1),
      modelAsked(['c-1']),
      toolStarted('c-1'),
      processStarted('p-1', { notify_on_complete: true }),
      answered(),
    ];
    const over = [...background, exited('p-1'), turn(2, { source: 'process' })];
    expect(summary(over).filter(([what]) => what === 'process')).toEqual([
      // The end and its notice are one append; here the events come one by one.
      ['process', at(7), at(9), 'turn.requested'],
    ]);
  });

  it('is a later turn only from the answer of the earlier one', () => {
    expect(
      summary([created(), turn(1), runStarted(1), turn(2), answered(), runStarted(2, { turn: 2 })]),
    ).toEqual([
      ['queue', at(2), at(3), 'run.started'],
      ['queue', at(5), at(6), 'run.started'],
    ]);
  });
});

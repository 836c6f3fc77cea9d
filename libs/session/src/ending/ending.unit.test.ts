import { describe, it } from '@jest/globals';
import { given } from '../../testing/given-when-then.ts';
import {
  answered,
  created,
  ended,
  modelAsked,
  modelSaid,
  processStarted,
  runStarted,
  toolFinished,
  toolStarted,
  turn,
} from '../../testing/sample-facts.ts';
import type { SessionCommand } from '../decide.ts';
import { fact } from '../decision.ts';

const finish = (text: string, generation = 1): SessionCommand => ({ type: 'finish-turn', generation, text });
const running = [created(), turn(1), runStarted(1)];

describe('every-session-ends: the end is decided with the answer', () => {
  it('B1: the answer of the only turn ends the session in the same decision', () => {
    given([...running, modelSaid('the answer')])
      .when(finish('the answer'))
      .then([answered(), ended()]);
  });

  it('B7: a second end is refused', () => {
    given([...running, answered(), ended()])
      .when(finish('the answer'))
      .thenRefused('session_ended');
  });

  it('the session goes on while a turn is queued', () => {
    given([...running, turn(2)])
      .when(finish('the answer'))
      .then([answered()]);
  });

  it('the session waits for a live watched process, and not for one that nobody watches', () => {
    const step = [modelAsked(['c-1']), toolStarted('c-1')];
    const done = toolFinished('c-1');
    given([...running, ...step, processStarted('proc_1'), done])
      .when(finish('the answer'))
      .then([answered()]);
    given([...running, ...step, processStarted('proc_1', { notify_on_complete: false }), done])
      .when(finish('the answer'))
      .then([answered(), ended()]);
    given([
      ...running,
      ...step,
      processStarted('proc_1', { notify_on_complete: false, watch_patterns: ['x'] }),
      done,
    ])
      .when(finish('the answer'))
      .then([answered()]);
  });

  it('the outcome is that of the last turn', () => {
    given([...running, turn(2), answered('Sorry', { outcome: 'failed' }), runStarted(2, { turn: 2 })])
      .when(finish('done', 2))
      .then([answered('done', { generation: 2, turn: 2 }), ended()]);
  });

  it('the reason says that a message began the session', () => {
    given([created(), turn(1, { source: 'message' }), runStarted(1)])
      .when(finish('the answer'))
      .then([answered(), ended({ reason: 'message_complete' })]);
  });
});

describe('cancel', () => {
  const cancel: SessionCommand = { type: 'cancel', by: 'api' };
  const cancelled = ended({ outcome: 'cancelled', detail: 'cancelled by api' });

  it('B3: stops the run and ends the session; a second cancel changes nothing', () => {
    const after = given([...running, turn(2)])
      .when(cancel)
      .then([fact('run.cancelled', { generation: 1, turn: 1, by: 'api' }), cancelled]);
    after.when(cancel).thenNothing();
  });

  it('works on a queued turn without a run', () => {
    given([created(), turn(1)])
      .when(cancel)
      .then([fact('run.cancelled', { generation: null, turn: 1, by: 'api' }), cancelled]);
  });

  it('works on a session that only waits for a process', () => {
    given([
      ...running,
      modelAsked(['c-1']),
      toolStarted('c-1'),
      processStarted('p'),
      toolFinished('c-1'),
      answered(),
    ])
      .when(cancel)
      .then([cancelled]);
  });

  it('is refused if the session ended otherwise or does not exist', () => {
    given([...running, answered(), ended()])
      .when(cancel)
      .thenRefused('session_ended');
    given([]).when(cancel).thenRefused('unknown_session');
  });
});

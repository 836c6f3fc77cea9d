import { describe, expect, it } from '@jest/globals';
import { given } from '../../testing/given-when-then.ts';
import {
  answered,
  created,
  ended,
  modelAsked,
  runStarted,
  toolFinished,
  toolStarted,
  turn,
} from '../../testing/sample-facts.ts';
import type { SessionCommand } from '../decide.ts';
import { agenda } from '../recovery/agenda.ts';
import { transcript } from '../transcript/transcript.ts';

const running = [created(), turn(1), runStarted(1)];
const start: SessionCommand = { type: 'start-agent', generation: 1, kind: 'command', arguments: '{}' };
const called = (more: object = {}) => toolStarted('agent-1', { tool: 'agent', ...more });
const done = (more: object = {}) => toolFinished('agent-1', { tool: 'agent', ...more });
const result: SessionCommand = {
  type: 'finish-tool',
  generation: null,
  callId: 'agent-1',
  outcome: 'ok',
  result: 'result of agent-1',
};

describe('an agent that is not a model', () => {
  it('is called without a request from a model, with a call id named after its turn', () => {
    given(running).when(start).then([called()]);
    given(running)
      .when({ ...start, kind: 'http' })
      .then([called({ tool: 'agent:http' })]);
  });

  it('is called once: no run calls it again, with or without a result', () => {
    given([...running, called()])
      .when(start)
      .thenNothing();
    given([...running, called(), runStarted(2)])
      .when({ ...start, generation: 2 })
      .thenRefused('call_started');
    given([...running, called(), done()])
      .when(start)
      .thenRefused('call_closed');
    given([...running, modelAsked(['c-1'])])
      .when(start)
      .thenRefused('call_closed');
  });

  it('is called only by the open run', () => {
    given([...running, runStarted(2)])
      .when(start)
      .thenRefused('stale_generation');
  });

  it('its result is accepted once, even if no run waits for it', () => {
    const after = given([...running, called(), runStarted(2)])
      .when(result)
      .then([done()]);
    after.when(result).thenNothing();
    given([...running, called(), answered(), ended()])
      .when(result)
      .thenRefused('session_ended');
    given(running).when(result).thenRefused('call_closed');
  });

  it('has no row of its own in the transcript', () => {
    const rows = transcript(given([...running, called(), done(), answered('the answer')]).events);
    expect(rows.map(({ role, content }) => [role, content])).toEqual([
      ['user', 'input 1'],
      ['assistant', 'the answer'],
    ]);
  });

  it('is on the watcher’s agenda if it is a program, and not if it is a remote service', () => {
    expect(agenda(given([...running, called()]).state).process).not.toBe(null);
    expect(agenda(given([...running, called(), done()]).state).process).toBe(null);
    expect(agenda(given([...running, called({ tool: 'agent:http' })]).state).process).toBe(null);
  });
});

import { describe, expect, it } from '@jest/globals';
import {
  argumentsJsonSchema,
  argumentsProblem,
  processArguments,
  terminalArguments,
} from './tool-arguments.ts';

describe('arguments of terminal', () => {
  it('have defaults for everything except the command', () => {
    expect(terminalArguments.parse({ command: 'ls' })).toEqual({
      command: 'ls',
      background: false,
      timeout_seconds: 180,
      notify_on_complete: false,
      watch_patterns: [],
    });
  });

  it.each([
    [{}, 'command: '],
    [{ command: '' }, 'command: '],
    [{ command: 'a\0b' }, 'command: '],
    [{ command: 'ls', timeout_seconds: 0 }, 'timeout_seconds: '],
    [{ command: 'ls', timeout: 5 }, 'timeout'],
    [{ command: 'ls', notify_on_complete: true }, 'notify_on_complete: only with `background: true`'],
    [{ command: 'ls', watch_patterns: ['x'] }, 'watch_patterns: only with `background: true`'],
    [
      { command: 'ls', background: true, watch_patterns: ['a\nb'] },
      'watch_patterns.0: a pattern is part of one line',
    ],
  ])('%j is refused with its place', (args, place) => {
    expect(argumentsProblem(terminalArguments, args)).toContain(place);
  });

  it('are shown to the model as a JSON schema in which only the command is required', () => {
    const schema = argumentsJsonSchema(terminalArguments);
    expect(schema).toMatchObject({ type: 'object', required: ['command'], additionalProperties: false });
    expect(schema).not.toHaveProperty('$schema');
  });
});

describe('arguments of process', () => {
  it.each([
    [{ action: 'list' }],
    [{ action: 'wait', process_id: 'proc_1', timeout_seconds: 5 }],
    [{ action: 'write', process_id: 'proc_1', data: '' }],
  ])('%j are accepted', (args) => {
    expect(argumentsProblem(processArguments, args)).toBe(null);
  });

  it.each([
    [{ action: 'poll' }, 'process_id: `poll` needs it'],
    [{ action: 'write', process_id: 'proc_1' }, 'data: `write` needs it'],
    [{ action: 'restart', process_id: 'proc_1' }, 'action: '],
  ])('%j is refused', (args, place) => {
    expect(argumentsProblem(processArguments, args)).toContain(place);
  });
});

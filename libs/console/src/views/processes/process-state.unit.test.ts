import { expect, it } from '@jest/globals';
import { processState } from './process-state.ts';

it.each([
  [{ status: 'running', exit_code: null, signal: null }, 'busy', 'Running'],
  [{ status: 'exited', exit_code: 0, signal: null }, 'ok', 'Exit 0'],
  [{ status: 'exited', exit_code: 3, signal: null }, 'bad', 'Exit 3'],
  [{ status: 'exited', exit_code: null, signal: 'SIGKILL' }, 'bad', 'Ended by SIGKILL'],
  [{ status: 'lost', exit_code: null, signal: null }, 'bad', 'Lost'],
] as const)('%j reads as it ended', (process, tone, text) => {
  expect(processState(process)).toEqual({ tone, text });
});

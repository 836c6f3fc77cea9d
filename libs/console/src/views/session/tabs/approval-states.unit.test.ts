import { expect, it } from '@jest/globals';
import type { SessionEvent } from '../session-event.ts';
import { approvalStates } from './approval-states.ts';

const event = (type: string, data: object): SessionEvent => ({
  position: 1,
  version: 1,
  type,
  recorded_at: '2026-11-18T14:00:00Z',
  data,
  meta: {},
});
const requested = event('approval.requested', { approval_id: 's.1', call_id: 'c-1' });
const decided = (more: object) =>
  event('approval.decided', { approval_id: 's.1', decision: 'approve', actor: 'telegram:1', ...more });
const stateAfter = (...events: SessionEvent[]) => approvalStates(events).get('c-1')?.text;

it('a tool call says that it waits for an approval, who decided, and why', () => {
  expect(stateAfter(requested)).toBe('waits for an approval');
  expect(stateAfter(requested, decided({}))).toBe('approved by telegram:1');
  expect(stateAfter(requested, decided({ scope: 'session' }))).toBe('approved for the session by telegram:1');
  expect(stateAfter(requested, decided({ decision: 'deny', reason: 'not at night' }))).toBe(
    'denied by telegram:1: not at night',
  );
  const expired = event('approval.expired', { approval_id: 's.1', reason: 'time' });
  expect(stateAfter(requested, expired)).toBe('not approved in time');
  expect(stateAfter(decided({}))).toBeUndefined();
});

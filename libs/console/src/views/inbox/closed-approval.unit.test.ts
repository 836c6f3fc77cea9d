import { expect, it } from '@jest/globals';
import { closedApproval } from './closed-approval.ts';

const decided = (more: object) => ({
  type: 'approval.decided',
  data: {
    approval_id: 's.1',
    decision: 'approve',
    scope: 'once',
    actor: 'telegram:1',
    reason: null,
    ...more,
  },
});

it('a decision says who was first, what it was, and why', () => {
  expect(closedApproval(decided({}))).toEqual({ id: 's.1', what: 'telegram:1 approved it.' });
  expect(closedApproval(decided({ scope: 'session' }))?.what).toBe(
    'telegram:1 approved it, and for the session.',
  );
  expect(closedApproval(decided({ decision: 'deny', reason: 'not at night' }))?.what).toBe(
    'telegram:1 denied it: not at night',
  );
});

it('an expired request says so; other events close none', () => {
  const data = { approval_id: 's.1', reason: 'time' };
  expect(closedApproval({ type: 'approval.expired', data })?.what).toContain('Nobody decided in time');
  expect(closedApproval({ type: 'approval.requested', data })).toBeNull();
  expect(closedApproval({ type: 'approval.decided', data: null })).toBeNull();
});

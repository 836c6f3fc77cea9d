import type { RecordedEvent, SessionId } from '@angelia/contracts';
import type { Loaded } from '@angelia/sessions';
import { describe, expect, it } from '@jest/globals';
import { closingOf } from './closing-text.ts';

const id = '0192aaaa-0000-7000-8000-000000000001' as SessionId;

function closed(asked: string, type: string | null, data: object = {}, actor = 'chat:telegram:5'): Loaded {
  const name = asked === 'approval' ? { approval_id: 'a-1' } : { clarification_id: 'q-1' };
  const events = [
    { version: 1, type: `${asked}.requested`, data: name, meta: {} },
    { version: 2, type: 'delivery.succeeded', data: { output: 1 }, meta: {} },
    ...(type === null
      ? []
      : [{ version: 3, type, data: { ...name, ...data }, meta: { actor }, recordedAt: 7 }]),
  ] as unknown as RecordedEvent[];
  return { id, events, version: events.length, state: { lastActivityAt: 9 } } as unknown as Loaded;
}
const text = (...given: Parameters<typeof closed>) => closingOf(closed(...given), 1).text;
const decided = (over: object) =>
  text('approval', 'approval.decided', {
    decision: 'approve',
    scope: 'once',
    actor: 'telegram:5',
    reason: null,
    ...over,
  });

describe('the message of a closed question', () => {
  it('says who answered what', () => {
    const answered = (data: object, actor?: string) =>
      text('clarification', 'clarification.answered', { answer: 'Blue', ...data }, actor);
    expect(answered({ person: 'Anna' })).toBe('**Answered** by Anna: Blue');
    expect(answered({})).toBe('**Answered** by telegram user 5: Blue');
    expect(answered({}, 'chat:telegram:5 (Anna B.)')).toBe('**Answered** by Anna B.: Blue');
    expect(answered({}, 'link')).toBe('**Answered** through the link: Blue');
    expect(answered({}, 'api')).toBe('**Answered** through the API: Blue');
    expect(answered({}, 'console')).toBe('**Answered** by console: Blue');
  });

  it('shows words of people in one line, without their markup, and cut', () => {
    const answer = `a *b*\n\n# [c](https://e.org) ${'x'.repeat(400)}`;
    const said = text('clarification', 'clarification.answered', { answer, person: '_me_' });
    expect(said).toContain('by \\_me\\_: a \\*b\\* \\# \\[c\\](https://e.org) xxx');
    expect(said.length).toBeLessThan(400);
  });

  it('says who approved or denied what, and why', () => {
    expect(decided({})).toBe('**Approved** by telegram user 5.');
    expect(decided({ scope: 'session', person: 'Anna' })).toBe('**Approved** by Anna for this session.');
    expect(decided({ scope: 'session', person: 'Anna', allows: { tool: 'terminal', match: 'rm *' } })).toBe(
      '**Approved** by Anna for this session, which allows later calls of `terminal` that match `rm *` and append no other command.',
    );
    expect(decided({ decision: 'deny', reason: 'too risky' })).toBe(
      '**Denied** by telegram user 5: too risky',
    );
  });

  it.each([
    ['clarification', 'clarification.timed-out', {}, '**Closed:** nobody answered in time.'],
    ['clarification', 'clarification.superseded', {}, '**Closed:** something newer replaced it.'],
    ['approval', 'approval.expired', { reason: 'time' }, '**Denied:** nobody decided in time.'],
    ['approval', 'approval.expired', { reason: 'superseded' }, '**Closed:** something newer replaced it.'],
    ['approval', 'session.ended', {}, '**Closed:** the session has ended.'],
    ['clarification', 'session.ended', {}, '**Closed:** the session has ended.'],
    ['clarification', null, {}, '**Closed.**'],
  ])('of a %s after %s says so', (asked, type, data, said) => {
    expect(text(asked, type, data)).toBe(said);
  });
});

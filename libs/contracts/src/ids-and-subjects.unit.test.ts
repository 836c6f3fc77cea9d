import { describe, expect, it } from '@jest/globals';
import {
  eventTypes,
  type HolderId,
  hintSchema,
  holderId,
  instanceOf,
  isSessionId,
  ownerHints,
  STREAM_SUBJECTS,
  subjectFilter,
  subjectOf,
} from './index.ts';

describe('ids', () => {
  it('accepts only a whole uuid as a session id (seed 000)', () => {
    expect(isSessionId('019a8c1e-0000-7000-8000-0123456789ab')).toBe(true);
    expect(isSessionId('019a8c1e')).toBe(false);
    expect(isSessionId('019A8C1E-0000-7000-8000-0123456789AB')).toBe(false);
  });

  it('finds the instance name before the incarnation', () => {
    expect(instanceOf(holderId('agent-runner-2', '5f3c'))).toBe('agent-runner-2');
    expect(instanceOf('bare' as HolderId)).toBe('bare');
  });
});

describe('subjects', () => {
  it.each([...eventTypes, ...ownerHints])(
    '%s of any stream is found by the filter of its type, inside the stream',
    (type) => {
      const subject = subjectOf(type, '019a8c1e-0000-7000-8000-0123456789ab');
      const filter = new RegExp(`^${subjectFilter(type).replaceAll('.', '\\.').replace('*', '[^.]+')}$`);
      expect(subject).toMatch(filter);
      expect(STREAM_SUBJECTS).toEqual(['angelia.evt.>']);
      expect(subject.startsWith('angelia.evt.')).toBe(true);
    },
  );

  it('a hint carries no event data', () => {
    const hint = hintSchema.parse({ stream_id: 's', version: 1, type: 't', data: { secret: 1 } });
    expect(hint).toEqual({ stream_id: 's', version: 1, type: 't' });
  });
});

import { describe, expect, it } from '@jest/globals';
import {
  NO_ROWS,
  type Rows,
  type SessionRow,
  withHead,
  without,
  withPage,
  withUpdates,
} from './session-rows.ts';

const row = (n: number, version = 1): SessionRow => ({
  id: `s${n}`,
  title: '',
  route: '',
  status: 'running',
  waiting_for: null,
  outcome: null,
  failure: null,
  agent: '',
  model: null,
  created: n,
  ended: null,
  tokens: 0,
  dead: 0,
  version,
});
const rows = (...numbers: number[]) => numbers.map((n) => row(n));
const ids = ({ rows }: Rows) => rows.map(({ id }) => id).join(' ');
const list = withPage(NO_ROWS, rows(5, 4, 3));

describe('the list of sessions', () => {
  it('grows at its end, each session once', () => {
    expect(ids(withPage(list, rows(3, 2, 1)))).toBe('s5 s4 s3 s2 s1');
  });

  it('takes new sessions in at its top when the reader is there', () => {
    expect(ids(withHead(list, rows(7, 6, 5), true))).toBe('s7 s6 s5 s4 s3');
  });

  it('keeps them back while the reader is further down, and shows them later, in order', () => {
    const waiting = withHead(withHead(list, rows(6, 5), false), rows(7, 6, 5), false);
    expect(ids(waiting)).toBe('s5 s4 s3');
    expect(waiting.waiting.map(({ id }) => id)).toEqual(['s7', 's6']);
    expect(ids(withHead(waiting, rows(8, 7, 6), true))).toBe('s8 s7 s6 s5 s4 s3');
  });

  it('changes a row in place, and never back to an older state', () => {
    const changed = withHead(list, [row(5, 3)], false);
    expect(changed.rows[0]?.version).toBe(3);
    expect(withUpdates(changed, [row(5, 2)]).rows[0]?.version).toBe(3);
    expect(ids(changed)).toBe('s5 s4 s3');
  });

  it('does not draw anything again when nothing changed', () => {
    expect(withHead(list, rows(5, 4), true).rows).toBe(list.rows);
    expect(withUpdates(list, rows(4)).rows).toBe(list.rows);
  });

  it('leaves a row where it is when it no longer fits the filter', () => {
    expect(ids(withHead(list, rows(5, 3), true))).toBe('s5 s4 s3');
  });

  it('knows that it is behind when more is new than a page holds', () => {
    const behind = withHead(list, rows(20, 19, 18), true);
    expect([behind.behind, ids(behind)]).toEqual([true, 's5 s4 s3']);
    expect(withHead(NO_ROWS, rows(2, 1), true)).toMatchObject({ behind: false });
  });

  it('loses erased sessions', () => {
    expect(ids(without(list, new Set(['s4'])))).toBe('s5 s3');
  });
});

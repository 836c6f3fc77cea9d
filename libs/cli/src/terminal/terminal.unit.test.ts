import { describe, expect, it } from '@jest/globals';
import { jsonText, withoutControlCharacters } from './control-characters.ts';
import { styleFor, wantsColour } from './style.ts';
import { type Column, fields, table } from './table.ts';
import { agoText, durationText } from './time.ts';
import { cut, displayWidth } from './width.ts';

interface Row {
  readonly id: string;
  readonly title: string;
}

const ID = '01a1e281-20d9-7563-b8f1-427765d52c50';
const columns: Column<Row>[] = [
  { head: 'SESSION', text: ({ id }) => id },
  { head: 'TITLE', text: ({ title }) => title, flexible: true },
];
const rows: Row[] = [{ id: ID, title: 'Review of a pull request that goes on and on' }];
const style = styleFor(false);

describe('a table', () => {
  it('fits the terminal by shortening titles', () => {
    expect(table(rows, columns, { width: 60, style })).toBe(
      `SESSION                               TITLE\n${ID}  Review of a pull requ…`,
    );
  });

  it('never cuts an id, however narrow the terminal is (seed 000)', () => {
    expect(table(rows, columns, { width: 20, style })).toContain(ID);
  });

  it('leaves out columns rather than wrapping, those that matter least first', () => {
    const more: Column<Row>[] = [
      ...columns.slice(0, 1),
      { head: 'A', text: () => 'a'.repeat(20), dropped: 2 },
      { head: 'B', text: () => 'b'.repeat(20), dropped: 3 },
      { head: 'C', text: () => 'ccc', wide: true },
      { head: 'TITLE', text: ({ title }) => title, flexible: true, dropped: 1 },
    ];
    const heads = (width: number, wide = false) =>
      table(rows, more, { width, wide, style }).split('\n')[0]?.split(/ +/);
    expect(heads(120)).toEqual(['SESSION', 'A', 'B', 'TITLE']);
    expect(heads(80)).toEqual(['SESSION', 'A', 'TITLE']);
    expect(heads(60)).toEqual(['SESSION', 'TITLE']);
    expect(heads(40)).toEqual(['SESSION']);
    expect(heads(Number.POSITIVE_INFINITY, true)).toEqual(['SESSION', 'A', 'B', 'C', 'TITLE']);
    for (const width of [80, 60, 40])
      for (const line of table(rows, more, { width, style }).split('\n'))
        expect(displayWidth(line)).toBeLessThanOrEqual(width);
  });

  it('cuts nothing without a terminal, and prints one line per row', () => {
    const two = [...rows, { id: ID, title: 'a\nb' }];
    const text = table(two, columns, { width: Number.POSITIVE_INFINITY, style });
    expect(text).toContain('that goes on and on');
    expect(text.split('\n')).toHaveLength(3);
  });

  it('counts columns, not characters: wide letters, emoji, colours', () => {
    expect([
      displayWidth('日本'),
      displayWidth('✅'),
      displayWidth('e\u0301'),
      displayWidth('\u001b[31mred\u001b[39m'),
    ]).toEqual([4, 2, 1, 3]);
    expect(cut('日本語のタイトル', 7)).toBe('日本語…');
    expect(displayWidth(cut('日本語のタイトル', 7))).toBeLessThanOrEqual(7);
  });

  it('fields keep long values whole', () => {
    expect(
      fields(
        [
          ['a', 'one\ntwo'],
          ['name', ID],
        ],
        style,
      ),
    ).toBe(`a     one\n      two\nname  ${ID}`);
  });
});

describe('colours', () => {
  const terminal = { isTTY: true, write: () => {} };
  const pipe = { write: () => {} };

  it.each([
    [{}, terminal, true],
    [{}, pipe, false],
    [{ NO_COLOR: '1' }, terminal, false],
    [{ NO_COLOR: '' }, terminal, true],
    [{ TERM: 'dumb' }, terminal, false],
    [{ FORCE_COLOR: '1' }, pipe, true],
    [{ FORCE_COLOR: '0' }, terminal, false],
    [{ FORCE_COLOR: '1', NO_COLOR: '1' }, pipe, true],
  ])('with %j', (env, stream, wanted) => {
    expect(wantsColour(env, stream)).toBe(wanted);
  });
});

describe('text of others', () => {
  it('cannot move the cursor, ring the bell or reverse the text', () => {
    expect(
      withoutControlCharacters('\u001b[2J\u001b[31mred\u001b[0m\u0007 \u009b1m \u202eabc\r\nnext\tx'),
    ).toBe(
      // Whole sequences disappear, also in their 8-bit form. Other control characters become a replacement character.
      'red\ufffd  \ufffdabc\nnext\tx',
    );
  });

  it('is escaped in JSON where a terminal would act on it', () => {
    expect(jsonText({ text: '\u001b[31m\u009b31m' })).toBe('{"text":"\\u001b[31m\\u009b31m"}');
    expect(JSON.parse(jsonText({ text: '\u009b' }))).toEqual({ text: '\u009b' });
  });
});

describe('times', () => {
  it.each([
    [0, '0 ms'],
    [812, '812 ms'],
    [2_310, '2.31 s'],
    [12_345, '12.3 s'],
    [185_000, '3 min 5 s'],
    [8_040_000, '2 h 14 min'],
    [273_600_000, '3 d 4 h'],
  ])('%i ms is %s', (ms, text) => expect(durationText(ms)).toBe(text));

  it('are rounded in lists, and can lie in the future', () => {
    const now = Date.parse('2026-11-17T10:00:00Z');
    expect(agoText('2026-11-17T09:57:50Z', now)).toBe('2 min ago');
    expect(agoText('2026-11-17T10:00:05Z', now)).toBe('in 5 s');
    expect(agoText('2026-11-17T10:00:00.400Z', now)).toBe('just now');
  });
});

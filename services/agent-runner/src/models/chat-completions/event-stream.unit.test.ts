import { describe, expect, it } from '@jest/globals';
import { EventStream } from './event-stream.ts';

/** The events of these bytes, which come in the given pieces. */
function eventsOf(...pieces: (string | Buffer)[]): string[] {
  const events: string[] = [];
  const stream = new EventStream((data) => events.push(data));
  for (const piece of pieces) stream.push(Buffer.from(piece));
  return events;
}

describe('server-sent events', () => {
  it('are the data between empty lines', () => {
    expect(eventsOf('data: one\n\ndata:two\n\n')).toEqual(['one', 'two']);
  });

  it.each([
    ['line feeds', '\n'],
    ['carriage returns', '\r'],
    ['both', '\r\n'],
  ])('have lines that end with %s', (_name, end) => {
    expect(eventsOf(['data: one', '', 'data: two', '', ''].join(end))).toEqual(['one', 'two']);
  });

  it('may have several lines of data, of which only one space before each is no data', () => {
    expect(eventsOf('data:  one\ndata:\ndata: two\n\n')).toEqual([' one\n\ntwo']);
  });

  it('may come with comments, other fields and empty events', () => {
    const stream =
      ': keep-alive\n\nevent: message\nid: 7\nretry: 10\ndata: one\n\n\n\ndatabase: no\n\n: end\n';
    expect(eventsOf(stream)).toEqual(['one']);
  });

  it('may begin with a byte order mark', () => {
    expect(eventsOf('\uFEFFdata: one\n\n')).toEqual(['one']);
  });

  it('count only with the empty line behind them', () => {
    expect(eventsOf('data: one\n\ndata: tw')).toEqual(['one']);
    expect(eventsOf('data: one\n\ndata: two\n')).toEqual(['one']);
  });

  it('are the same wherever the bytes are cut: within a line, a line end or a character', () => {
    const bytes = Buffer.from(
      ': c\r\n\r\ndata: für 漢字 😀\r\ndata: x\r\n\r\ndata: {"a":1}\n\ndata: b\r\rdata: c\r\n\n',
    );
    const whole = eventsOf(bytes);
    expect(whole).toEqual(['für 漢字 😀\nx', '{"a":1}', 'b', 'c']);
    for (let at = 1; at < bytes.length; at += 1) {
      expect(eventsOf(bytes.subarray(0, at), bytes.subarray(at))).toEqual(whole);
    }
    expect(eventsOf(...[...bytes].map((byte) => Buffer.from([byte])))).toEqual(whole);
  });

  it('are refused when one is longer than any answer', () => {
    const half = `data: ${'x'.repeat(5_000_000)}`;
    expect(() => eventsOf(half, 'x'.repeat(5_000_000))).toThrow('more than 8000000 characters');
    expect(() => eventsOf(`${half}\n`, `${half}\n`)).toThrow('more than 8000000 characters');
    expect(eventsOf(`${half}\n\n`, `${half}\n\n`)).toHaveLength(2);
  });
});

import { describe, expect, it } from '@jest/globals';
import { renderLogLine } from './log-line.ts';

describe('a log line', () => {
  it('is readable, without the fields for machines', () => {
    const line = JSON.stringify({
      ...{ level: 40, time: 1, pid: 2, hostname: 'h', trace_id: 't', session_id: 's', attempt: 2 },
      ...{ msg: 'delivery failed', err: { message: 'refused', stack: '...' } },
    });
    expect(renderLogLine(line)).toBe('warn  delivery failed session_id=s attempt=2 err=refused');
  });

  it('has the whole reason of a webhook that was refused; other long texts are only in the file', () => {
    const detail = `filters.0 (action in ["opened"]): action was "${'c'.repeat(200)}"`;
    const line = JSON.stringify({
      level: 'warn',
      msg: 'webhook refused',
      route: 'r',
      detail,
      text: 'x'.repeat(200),
    });
    expect(renderLogLine(line)).toBe(`warn  webhook refused route=r detail=${detail}`);
  });

  it('stays as it is if it is not JSON', () => {
    expect(renderLogLine('angelia: no')).toBe('angelia: no');
    expect(renderLogLine('{"level":30,"ms')).toBe('{"level":30,"ms');
  });

  it('never controls the terminal or looks like two lines, whatever a stranger wrote into it', () => {
    const text = 'a\u001b]0;owned\u0007\r\nlauncher | error b\u009b2J';
    const shown = renderLogLine(JSON.stringify({ level: 'info', msg: 'output', text }));
    expect(shown).toBe('info  output text=a ]0;owned launcher | error b 2J');
    expect(renderLogLine('plain \u001b[31mred')).toBe('plain  [31mred');
  });
});

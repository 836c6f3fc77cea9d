import { createHmac } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import { banner, demoCurl } from '../src/banner.ts';
import { lineForTheUser } from '../src/command.ts';
import { readSettings } from '../src/environment.ts';
import { renderLogLine } from '../src/log-line.ts';
import { instancesOf, parseReplicas } from '../src/replicas.ts';

describe('the environment', () => {
  it('has defaults for everything, and takes an empty variable for an unset one', () => {
    expect(readSettings({ ANGELIA_PORT: '', DATABASE_URL: '' }, '/nowhere')).toMatchObject({
      dataDir: '/nowhere/.angelia',
      host: '127.0.0.1',
      port: 8644,
      databaseUrl: null,
      usesDemoConfig: true,
      drainSeconds: 30,
    });
  });

  it.each([
    [{ ANGELIA_PORT: 'http' }, 'ANGELIA_PORT is "http"'],
    [{ ANGELIA_PORT: '70000' }, 'ANGELIA_PORT is "70000"'],
    [{ ANGELIA_DRAIN_SECONDS: '-1' }, 'ANGELIA_DRAIN_SECONDS is "-1"'],
    [{ ANGELIA_REPLICAS: 'runner=2' }, 'ANGELIA_REPLICAS has "runner=2"'],
    [{ ANGELIA_REPLICAS: 'delivery=0' }, 'ANGELIA_REPLICAS has "delivery=0"'],
  ])('that makes no sense is refused by name: %j', (env, reason) => {
    expect(() => readSettings(env, '/nowhere')).toThrow(reason);
  });
});

describe('replicas', () => {
  it('are named by service and number, the first by the service alone', () => {
    const instances = instancesOf(parseReplicas(' agent-runner=2, delivery = 1 ')).map((one) => one.instance);
    expect(instances).toEqual(['ingress', 'agent-runner', 'agent-runner-2', 'delivery', 'process-watcher']);
  });
});

describe('a log line', () => {
  it('is shown readably, without what only machines read', () => {
    const line = JSON.stringify({
      ...{ level: 40, time: 1, pid: 2, hostname: 'h', trace_id: 't', session_id: 's', attempt: 2 },
      ...{ msg: 'delivery failed', err: { message: 'refused', stack: '...' } },
    });
    expect(renderLogLine(line)).toBe('warn  delivery failed session_id=s attempt=2 err=refused');
  });

  it('is shown as it is when it is not JSON', () => {
    expect(renderLogLine('angelia: no')).toBe('angelia: no');
    expect(renderLogLine('{"level":30,"ms')).toBe('{"level":30,"ms');
  });

  it('never steers the terminal, nor looks like two lines, whatever a stranger had written into it', () => {
    const text = 'a\u001b]0;owned\u0007\r\nlauncher | error b\u009b2J';
    const shown = renderLogLine(JSON.stringify({ level: 'info', msg: 'output', text }));
    expect(shown).toBe('info  output text=a ]0;owned launcher | error b 2J');
    expect(renderLogLine('plain \u001b[31mred')).toBe('plain  [31mred');
  });
});

describe('the line for the user', () => {
  it('is what the program addressed to them, among whatever else it wrote', () => {
    expect(lineForTheUser('{"level":30}\nangelia: x (y): do z\nat foo.js:1')).toBe('x (y): do z');
    expect(lineForTheUser('Error: boom')).toBe('Error: boom');
  });
});

describe('the banner', () => {
  const facts = {
    url: 'http://127.0.0.1:8644',
    otherUrls: [],
    adminTokenFile: "/tmp/it's here/admin-token",
    dataDir: '/tmp/data',
    readyInSeconds: 1.23,
    demoSecret: 'shh',
  };

  it('has a curl whose signature is that of its body', () => {
    const curl = demoCurl(facts.url, 'shh');
    const body = /-d '([^']*)'/.exec(curl)?.[1] ?? '';
    const signature = createHmac('sha256', 'shh').update(body).digest('hex');
    expect(JSON.parse(body)).toBeInstanceOf(Object);
    expect(curl).toContain(`X-Hub-Signature-256: sha256=${signature}`);
  });

  it('quotes a path so that it can be pasted', () => {
    expect(banner(facts)).toContain(`$(cat '/tmp/it'\\''s here/admin-token')`);
  });

  it('shows neither a secret nor a demo when the config is not the demo', () => {
    expect(banner({ ...facts, demoSecret: null })).not.toMatch(/demo|shh/);
  });
});

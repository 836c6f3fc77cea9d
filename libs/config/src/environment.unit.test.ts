import { hostname } from 'node:os';
import { describe, expect, it } from '@jest/globals';
import { checkEnvironment, readEnvironment } from './environment.ts';
import { StartupError, startupMessage } from './startup-error.ts';

const needed = { DATABASE_URL: 'postgres://u@127.0.0.1:5432/a', NATS_URL: 'nats://127.0.0.1:4222' };

function refusal(env: NodeJS.ProcessEnv): string {
  try {
    readEnvironment('delivery', env);
  } catch (error) {
    if (error instanceof StartupError) return startupMessage(error);
    throw error;
  }
  throw new Error('was not refused');
}

describe('environment', () => {
  it('has the defaults of INTERFACES.md', () => {
    expect(readEnvironment('delivery', needed)).toMatchObject({
      instance: `delivery-${hostname()}`,
      host: '127.0.0.1',
      port: 8644,
      drainSeconds: 30,
      dataDirectory: './.angelia',
      adminHost: '127.0.0.1',
      adminPort: undefined,
      otlp: { traces: false, metrics: false },
      traceInternals: false,
      captureContent: [],
      logLevel: 'info',
    });
  });

  it('treats an empty variable as unset', () => {
    const environment = readEnvironment('ingress', {
      ...needed,
      ANGELIA_PORT: '',
      OTEL_EXPORTER_OTLP_ENDPOINT: '',
    });
    expect(environment.port).toBe(8644);
    expect(environment.otlp).toEqual({ traces: false, metrics: false });
  });

  it.each([
    [{ OTEL_EXPORTER_OTLP_ENDPOINT: 'http://c:4318' }, { traces: true, metrics: true }],
    [{ OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: 'http://c:4318/v1/traces' }, { traces: true, metrics: false }],
    [{ OTEL_EXPORTER_OTLP_METRICS_ENDPOINT: 'http://c:4318/v1/metrics' }, { traces: false, metrics: true }],
  ])('exports what has an endpoint: %j', (variables, otlp) => {
    expect(readEnvironment('delivery', { ...needed, ...variables }).otlp).toEqual(otlp);
  });

  it('names a missing variable in one line', () => {
    expect(refusal({ NATS_URL: needed.NATS_URL })).toMatch(/^angelia: DATABASE_URL .*not set.*\n$/);
  });

  it('names every problem, each on its own line', () => {
    const lines = refusal({
      ...needed,
      NATS_URL: undefined,
      ANGELIA_PORT: '99999',
      ANGELIA_LOG_LEVEL: 'loud',
    });
    expect(lines.trimEnd().split('\n')).toHaveLength(3);
    expect(lines).toContain('NATS_URL');
    expect(lines).toContain('ANGELIA_PORT');
    expect(lines).toContain('ANGELIA_LOG_LEVEL');
  });

  it.each([
    ['ANGELIA_MASTER_KEY', Buffer.alloc(16).toString('base64')],
    ['ANGELIA_INSTANCE', 'a#b'],
    ['ANGELIA_ADMIN_TOKEN', 'short'],
    ['DATABASE_URL', 'mysql://x/y'],
    ['NATS_URL', 'http://127.0.0.1:4222'],
    ['NATS_URL', 'nats://a:4222,'],
    ['ANGELIA_DRAIN_SECONDS', '-1'],
    ['OTEL_EXPORTER_OTLP_TRACES_ENDPOINT', 'collector:4317'],
    ['OTEL_ANGELIA_INTERNALS', 'yes'],
    ['OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT', 'prompt'],
    // We send no events: to take it as "nothing" would be a silent downgrade.
    ['OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT', 'EVENT_ONLY'],
  ])('refuses a wrong %s', (name, value) => {
    expect(refusal({ ...needed, [name]: value })).toContain(`angelia: ${name} `);
  });

  it.each([
    ['false', []],
    ['NO_CONTENT', []],
    ['answers', ['answers']],
    ['tool_results, prompts', ['prompts', 'tool_results']],
    ['true', ['prompts', 'answers', 'tool_arguments', 'tool_results']],
    ['SPAN_ONLY', ['prompts', 'answers', 'tool_arguments', 'tool_results']],
  ])('captures content for %s', (value, classes) => {
    const name = 'OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT';
    expect(readEnvironment('ingress', { ...needed, [name]: value }).captureContent).toEqual(classes);
  });

  it('does not quote a wrong secret', () => {
    expect(refusal({ ...needed, ANGELIA_MASTER_KEY: 'hunter2hunter2' })).not.toContain('hunter2');
  });

  it('can be checked before the start, while the URLs are still missing', () => {
    expect(() => checkEnvironment({})).not.toThrow();
    expect(() => checkEnvironment({ DATABASE_URL: 'foo' })).toThrow(/DATABASE_URL/);
    expect(() => checkEnvironment({ ANGELIA_ADMIN_TOKEN: 'x' })).toThrow(/ANGELIA_ADMIN_TOKEN/);
  });
});

import {
  answer,
  callTool,
  fail,
  type ModelRequest,
  type ModelStep,
  type SinkBehaviour,
  type SinkPayload,
  say,
  testConfig,
  testRoute,
} from '@angelia/testkit';

/**
 * The kinds of work under faults. A kind is a route and a word in the prompt (`chaos <kind> <key>`) that tells the model what
 * to do. The key is in every answer and effect, so that the checker knows what it belongs to.
 */
export const KINDS = [
  'plain',
  'long',
  'tools',
  'fallback',
  'busy',
  'clarify',
  'coalesced',
  'background',
  'slow',
  'failing',
  'cutting',
  'gone',
  'telegram',
  'follow',
  'cancel',
] as const;
export type Kind = (typeof KINDS)[number];

export const TELEGRAM_TOKEN = '1:chaos';
/** For kind `long`: longer than the lease, so that takeovers and drains hit it. */
const LONG_MS = 4_000;
const SLOW_TARGET_MS = 2_500;
const BACKGROUND_EXIT = 7;
/** The model of kind `busy` is down for as long as it works, again and again. */
const BUSY_MS = 4_000;

export function chaosConfig(places: { sinkUrl: string; modelUrl: string; telegramUrl: string }): string {
  const route = (kind: Kind, over: Record<string, unknown> = {}) => [
    kind,
    testRoute(`${places.sinkUrl}/${kind}`, over),
  ];
  // Faults come faster than in reality. Their number must not end a turn.
  const agent = { kind: 'llm', model: 'main', resume: { max_attempts: 50 }, toolsets: [] as string[] };
  return testConfig({
    sinkUrl: places.sinkUrl,
    modelUrl: places.modelUrl,
    models: {
      broken: {
        provider: 'openai-compatible',
        base_url: places.modelUrl,
        model: 'broken',
        api_key: 'test-key',
      },
      busy: {
        provider: 'openai-compatible',
        base_url: places.modelUrl,
        model: 'busy',
        api_key: 'test-key',
      },
    },
    agent,
    agents: {
      equipped: { ...agent, toolsets: ['terminal', 'clarify'] },
      unlucky: { ...agent, model: 'broken', fallback_models: ['main'] },
      patient: { ...agent, model: 'busy', retry: { schedule_seconds: [0.5, 1, 2], max_seconds: 3_600 } },
    },
    targets: { telegram: { bot_token: TELEGRAM_TOKEN, api_base: places.telegramUrl } },
    delivery: { retry_schedule_seconds: [0.5, 1, 2, 4, 8, 8, 8, 8, 8, 8] },
    // Above a second even on a busy machine, so that a frozen or starved one does not look dead to itself.
    timing: { lease_seconds: 4, sweep_seconds: 2, lead_seconds: 3 },
    routes: Object.fromEntries([
      route('plain'),
      route('long'),
      route('tools', { agent: 'equipped' }),
      route('fallback', { agent: 'unlucky' }),
      route('busy', { agent: 'patient' }),
      route('clarify', { agent: 'equipped' }),
      route('coalesced', { coalesce: { key: '{key}', window_seconds: 2, max_wait_seconds: 4 } }),
      route('background', { agent: 'equipped' }),
      route('slow'),
      route('failing'),
      route('cutting'),
      route('gone'),
      route('telegram', { agent: 'unlucky', deliver: 'telegram', deliver_extra: { chat_id: '{chat}' } }),
      route('follow'),
      route('cancel'),
    ]),
  });
}

export const promptOf = (kind: string, key: string): string => `chaos ${kind} ${key}`;
export const questionOf = (key: string): string => `Which colour for ${key}?`;

/** The key of a model call: that of its first prompt, which names the session. */
export function keyOf(request: ModelRequest): string {
  return /chaos \w+ (k\d+)/.exec(JSON.stringify(request.body.messages))?.[1] ?? '';
}

/** The model. Like a real one, it sees only the conversation. */
export function modelOf(effectsDir: string): (request: ModelRequest) => ModelStep {
  return (request) => {
    if (request.body.model === 'broken') return fail(500);
    if (request.body.model === 'busy' && Math.floor(performance.now() / BUSY_MS) % 2 === 0) return fail(503);
    const { input, results } = request;
    const key = keyOf(request);
    if (input.startsWith('[Background process')) return say(`noticed for ${key}: ${input.split('\n')[0]}`);
    const kind = /chaos (\w+) k\d+/.exec(input)?.[1];
    const done = say(`answer to ${kind} ${key}`, thinkingMs(key));
    switch (kind) {
      case 'long':
      case 'cancel':
        return say(`answer to ${kind} ${key}`, LONG_MS);
      case 'tools':
        return results.length < 2
          ? callTool('terminal', {
              command: `echo done >> ${effectsDir}/${key}.${results.length}; sleep 0.3; exit 0`,
            })
          : done;
      case 'background':
        return results.length < 1
          ? callTool('terminal', {
              command: `sleep 2; echo done >> ${effectsDir}/${key}.0; exit ${BACKGROUND_EXIT}`,
              background: true,
              notify_on_complete: true,
            })
          : done;
      case 'clarify':
        return results.length < 1
          ? callTool('clarify', { question: questionOf(key), choices: ['red', 'blue'] })
          : done;
      default:
        return done;
    }
  };
}

/** The http target. Its answer depends on the path, and on how often it was called. */
export function targetOf(): (payload: SinkPayload) => SinkBehaviour {
  const asked = new Map<string, number>();
  return ({ session_id, version, route }) => {
    const name = `${session_id}.${version}`;
    const before = asked.get(name) ?? 0;
    asked.set(name, before + 1);
    switch (route as Kind) {
      case 'slow':
        return { kind: 'answer', status: 200, delayMs: SLOW_TARGET_MS };
      case 'failing':
        return answer(before < 2 ? 503 : 200);
      case 'cutting':
        return before < 1 ? { kind: 'cut-off' } : answer(200);
      case 'gone':
        return answer(410);
      default:
        return answer(200);
    }
  };
}

/** The time differs by key, and is always the same for one key. */
function thinkingMs(key: string): number {
  return 100 + ((Number(key.slice(1)) * 7919) % 1_200);
}

import { describe, expect, it } from '@jest/globals';
import { judge, LATE_MS } from './checker.ts';
import type { History, Injected, LoggedEvent, Received } from './history.ts';

// A checker that finds nothing is only worth something if it can find. Each test breaks one rule in an otherwise good history.

type Data = Record<string, unknown>;
type Entry = readonly [type: string, data?: Data];

const TRACE = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';

function stream(id: string, entries: readonly Entry[]): LoggedEvent[] {
  return entries.map(([type, data = {}], index) => ({
    stream: id,
    version: index + 1,
    type,
    recordedAt: 1_000 * (index + 1),
    data,
    traceparent: TRACE,
  }));
}

const created = (kind: string, n: number, to: Data = { url: `http://127.0.0.1:9/${kind}` }): Entry => [
  'session.created',
  {
    route: kind,
    delivery_id: `d${n}`,
    deliver: { target: 'url' in to ? 'http' : 'telegram', to },
    start_after: null,
  },
];
const turn = (number: number, input: string, more: Data = {}): Entry => [
  'turn.requested',
  { turn: number, source: 'webhook', input, start_after: null, ...more },
];
const run = (generation: number, number = 1, more: Data = {}): Entry => [
  'run.started',
  { generation, turn: number, resumed: false, attempt: 1, ...more },
];
const final = (generation: number, number: number, text: string): Entry => [
  'session.final-response',
  { generation, turn: number, text, outcome: 'succeeded', silent: false },
];
const ended: Entry = ['session.ended', { outcome: 'succeeded', reason: 'webhook_complete' }];
const sent = (output: number): Entry[] => [
  ['delivery.attempted', { output, attempt: 1, target: 'http' }],
  ['delivery.succeeded', { output, attempt: 1 }],
];

/** A session with tools (versions 1-10), one by Telegram (1-9), and one with a process and its notice (1-17). */
const TOOLS: Entry[] = [
  created('tools', 1),
  turn(1, 'chaos tools k1'),
  run(1),
  [
    'tool.started',
    { generation: 1, call_id: 'c1', arguments: '{"command":"echo >> /tmp/x/effects/k1.0; sleep 1"}' },
  ],
  ['tool.finished', { turn: 1, call_id: 'c1', outcome: 'ok' }],
  ['session.interim-status', { generation: 1, turn: 1, text: 'on it' }],
  final(1, 1, 'answer to tools k1'),
  ended,
  ...sent(7),
];
const TELEGRAM: Entry[] = [
  created('telegram', 2, { chat_id: '42' }),
  turn(1, 'chaos telegram k2'),
  run(1),
  ['session.interim-status', { generation: 1, turn: 1, text: 'fell back' }],
  final(1, 1, 'answer to telegram k2'),
  ended,
  ['delivery.attempted', { output: 4, attempt: 1, target: 'telegram' }],
  ['delivery.succeeded', { output: 4, attempt: 1 }],
  ['delivery.attempted', { output: 5, attempt: 1, target: 'telegram' }],
  ['delivery.succeeded', { output: 5, attempt: 1 }],
];
const PROCESS: Entry[] = [
  created('background', 3),
  turn(1, 'chaos background k3'),
  run(1),
  ['clarification.requested', { generation: 1, turn: 1, clarification_id: 'q1', question: 'Which for k3?' }],
  ['clarification.answered', { clarification_id: 'q1', answer: 'blue for k3' }],
  run(2),
  [
    'process.started',
    { process_id: 'p1', generation: 2, command: 'sleep 1; exit 7', notify_on_complete: true },
  ],
  final(2, 1, 'answer to background k3'),
  ['process.exited', { process_id: 'p1', exit_code: 7 }],
  turn(2, '[Background process p1 exited]', {
    source: 'process',
    notice: { process_id: 'p1', kind: 'exited' },
  }),
  run(3, 2),
  final(3, 2, 'noticed for k3'),
  ended,
  ...sent(8),
  ...sent(12),
];

const IDS = ['s-tools', 's-telegram', 's-process'] as const;

function got(
  session: string | null,
  version: number | null,
  text: string,
  more: Partial<Received> = {},
): Received {
  return {
    at: 20_000 + (version ?? 0),
    target: 'http',
    place: session === 's-tools' ? '/tools' : '/background',
    session,
    version,
    text,
    marked: false,
    ...more,
  };
}
const byTelegram = (text: string, at: number, marked = false): Received =>
  got(null, null, text, { target: 'telegram', place: '42', at: 20_000 + at, marked });

const RECEIVED: Received[] = [
  got('s-tools', 6, 'on it'),
  got('s-tools', 7, 'answer to tools k1'),
  byTelegram('fell back', 1),
  byTelegram('answer to telegram k2', 2),
  got('s-process', 4, 'Which for k3?\n1. red'),
  got('s-process', 8, 'answer to background k3'),
  got('s-process', 12, 'noticed for k3'),
];

interface Parts {
  tools?: Entry[];
  telegram?: Entry[];
  process?: Entry[];
  received?: Received[];
  over?: Partial<History>;
}

function history({
  tools = TOOLS,
  telegram = TELEGRAM,
  process = PROCESS,
  received,
  over,
}: Parts = {}): History {
  const posts = ['tools', 'telegram', 'background'].map((kind, index) => ({
    key: `k${index + 1}`,
    kind,
    deliveryId: `d${index + 1}`,
    at: 0,
    answers: [{ status: 202, sessionId: IDS[index] as string, at: 1_001 }],
  }));
  return {
    posts,
    messages: [{ key: 'k3', what: 'answer', text: 'blue for k3', sessionId: 's-process' }],
    events: [...stream(IDS[0], tools), ...stream(IDS[1], telegram), ...stream(IDS[2], process)],
    received: received ?? RECEIVED,
    modelCalls: [
      { key: 'k1', from: 0, until: 1_000 },
      { key: 'k1', from: 1_100, until: 2_000 },
    ],
    effects: new Map([['k1.0', 1]]),
    faults: [],
    views: { actual: { sessions: [{ a: 1 }] }, folded: { sessions: [{ a: 1 }] } },
    deadLetters: [],
    falls: [],
    problems: [],
    ...over,
  };
}

const found = (parts: Parts): string[] =>
  judge(history(parts)).violations.map(({ invariant, what }) => `${invariant}: ${what}`);

/** The entries, with the one of this version replaced. */
const replaced = (entries: Entry[], version: number, ...by: Entry[]): Entry[] =>
  entries.toSpliced(version - 1, 1, ...by);
const without = (entries: Entry[], version: number): Entry[] => replaced(entries, version);
const frozen = (program: string): Injected => ({
  fault: { kind: 'freeze', program, forMs: 1 },
  from: 0,
  until: 5_000,
});

it('a good history has no violation', () => {
  expect(judge(history())).toEqual({
    violations: [],
    figures: expect.objectContaining({
      accepted: 3,
      sessions: 3,
      finals: 4,
      lost: 0,
      doubled: 0,
      marked: 0,
      late: 0,
    }),
  });
});

describe('it finds', () => {
  const planted: [what: string, parts: Parts, finding: RegExp][] = [
    [
      'an accepted webhook that is not in the log',
      {
        over: {
          posts: [
            {
              key: 'k9',
              kind: 'plain',
              deliveryId: 'd9',
              at: 0,
              answers: [{ status: 202, sessionId: 's9', at: 1 }],
            },
          ],
        },
      },
      /accepted-is-durable: 202 to d9/,
    ],
    [
      'a webhook that is in the log twice',
      { telegram: replaced(TELEGRAM, 1, created('telegram', 1, { chat_id: '42' })) },
      /one-delivery-one-session: d1 was taken by s-tools and s-telegram/,
    ],
    [
      'a repeated webhook that got another session id',
      {
        over: {
          posts: [
            {
              key: 'k1',
              kind: 'tools',
              deliveryId: 'd1',
              at: 0,
              answers: IDS.slice(0, 2).map((sessionId) => ({ status: 202, sessionId, at: 1 })),
            },
          ],
        },
      },
      /one-delivery-one-session: d1 was told/,
    ],
    [
      'an accepted answer to a question that is not in the log',
      { over: { messages: [{ key: 'k1', what: 'answer', text: 'green', sessionId: 's-tools' }] } },
      /"green" is in the log 0 times/,
    ],
    ['a session that did not end', { tools: without(TOOLS, 8) }, /every-session-ends: it has 0 ends/],
    ['a second end', { tools: [...TOOLS, ended] }, /it has 2 ends/],
    ['work after the end', { tools: [...TOOLS, run(2)] }, /run.started \(11\) follows its end/],
    ['a turn without an answer', { tools: without(TOOLS, 7) }, /turn 1 has 0 final responses/],
    [
      'a session that failed',
      {
        tools: TOOLS.map(
          ([type, data]) =>
            [type, data?.outcome === 'succeeded' ? { ...data, outcome: 'failed' } : data] as const,
        ),
      },
      /it ended failed/,
    ],
    [
      'an answer that no target has',
      { received: RECEIVED.toSpliced(1, 1) },
      /LOST: output 7 is recorded as delivered/,
    ],
    ['an answer that nobody settled', { tools: TOOLS.slice(0, 9) }, /LOST: output 7 is not settled/],
    [
      'an answer that was given up without a reason',
      { tools: replaced(TOOLS, 10, ['delivery.dead', { output: 7, reason: 'tired' }]) },
      /LOST: output 7 was given up: tired/,
    ],
    [
      'an answer that was dropped',
      { tools: replaced(TOOLS, 10, ['delivery.dropped', { output: 7 }]) },
      /LOST: final response 7 was dropped/,
    ],
    [
      'an unmarked second copy at a target with idempotency',
      { received: [...RECEIVED, got('s-tools', 7, 'answer to tools k1')] },
      /DOUBLED: 1 further copies of output 7/,
    ],
    [
      'an unmarked second copy at a target without idempotency',
      { received: [...RECEIVED, byTelegram('answer to telegram k2', 9)] },
      /DOUBLED: 1 further copies of output 5/,
    ],
    [
      'an unmarked second copy of a status',
      { received: RECEIVED.toSpliced(1, 0, got('s-tools', 6, 'on it')) },
      /DOUBLED: 1 further copies of output 6/,
    ],
    [
      'a second sender while the first is sending',
      {
        tools: replaced(
          TOOLS,
          9,
          ['delivery.attempted', { output: 7, attempt: 1, target: 'http', deadline_seconds: 5 }],
          ['delivery.attempted', { output: 7, attempt: 2, target: 'http', deadline_seconds: 5 }],
        ),
      },
      /attempt at 7 \(10\) while one at 7 is in flight/,
    ],
    ['a delivery that succeeded twice', { tools: [...TOOLS, ...sent(7)] }, /output 7 succeeded 2 times/],
    [
      'a status that arrived after the answer, by version',
      { received: [...RECEIVED, got('s-tools', 6, 'on it', { at: 70_000, marked: true })] },
      /in-order-once: output 6 came after 7/,
    ],
    [
      'a status that arrived after the answer, by text',
      { received: [...RECEIVED, byTelegram('fell back', 9, true)] },
      /in-order-once: output 4 came after 5/,
    ],
    [
      'a status that was recorded after the answer of its turn',
      {
        tools: [...TOOLS.slice(0, 7), ['session.interim-status', { turn: 1, text: 'x' }], ...TOOLS.slice(7)],
      },
      /status 8 after the final response/,
    ],
    [
      'a message that is not in the log',
      { received: [...RECEIVED, got('s-tools', 7, 'made up')] },
      /"made up", which is not an output/,
    ],
    [
      'a message without a session',
      { received: [...RECEIVED, got('s-nobody', 3, 'hello')] },
      /"hello" of no session/,
    ],
    [
      'a message that was sent before it was written',
      { received: RECEIVED.with(0, got('s-tools', 6, 'on it', { at: 2_000 })) },
      /output 6 was at the target before it was in the log/,
    ],
    [
      'a message at the wrong place',
      { received: RECEIVED.with(0, got('s-tools', 6, 'on it', { place: '/elsewhere' })) },
      /config-is-a-fact: reached http \/elsewhere/,
    ],
    [
      'an attempt at the wrong target',
      { tools: replaced(TOOLS, 9, ['delivery.attempted', { output: 7, target: 'log' }]) },
      /config-is-a-fact: sent to log instead of http/,
    ],
    [
      'an event of an older run after another took over',
      {
        tools: replaced(TOOLS, 6, run(2), [
          'session.interim-status',
          { generation: 1, turn: 1, text: 'on it' },
        ]),
      },
      /single-owner: session.interim-status \(7\) of run 1 while 2 is open/,
    ],
    [
      'an event of a run that has ended',
      { process: replaced(PROCESS, 5, ['model.responded', { generation: 1 }], PROCESS[4] as Entry) },
      /single-owner: model.responded \(5\) of run 1 while none is open/,
    ],
    [
      'two runs with the same generation',
      { process: replaced(PROCESS, 6, run(1)) },
      /single-owner: run 1 \(6\) follows run 1/,
    ],
    [
      'two concurrent model calls',
      {
        over: {
          modelCalls: [
            { key: 'k1', from: 0, until: 3_000 },
            { key: 'k1', from: 1_000, until: null },
          ],
        },
      },
      /single-owner: two model calls at once for k1/,
    ],
    [
      'a run for an answered turn',
      { process: replaced(PROCESS, 11, run(3, 1)) },
      /no-phantom-turns: .*turn 1 has its final response/,
    ],
    [
      'a run during an open question',
      { process: without(PROCESS, 5) },
      /no-phantom-turns: .*its question is open/,
    ],
    [
      'a run that counts as the first attempt after a lost one',
      { tools: replaced(TOOLS, 4, run(2)) },
      /resume-is-derived: run.started \(4\) says attempt 1, but the events say attempt 2, resumed/,
    ],
    [
      'an attempt that still counts after progress',
      { tools: replaced(TOOLS, 6, run(2, 1, { resumed: true, attempt: 2 })) },
      /resume-is-derived: run.started \(6\) says attempt 2, resumed, but the events say attempt 1, resumed/,
    ],
    [
      'a run that is marked as resumed although nothing was lost',
      { process: replaced(PROCESS, 6, run(2, 1, { resumed: true })) },
      /resume-is-derived: run.started \(6\) says attempt 1, resumed/,
    ],
    [
      'a run for a turn that was silent for too long',
      {
        over: {
          events: stream('s-tools', [...TOOLS.slice(0, 3), run(2, 1, { resumed: true, attempt: 2 })]).map(
            (event) => (event.version < 4 ? event : { ...event, recordedAt: 3_604_000 }),
          ),
        },
      },
      /no-phantom-turns: run.started \(4\): there was no sign of life for too long/,
    ],
    [
      'a failure without a message to the user',
      { tools: replaced(TOOLS, 6, ['run.failed', { generation: 1, turn: 1, code: 'internal' }]) },
      /no-silent-downgrade: turn 1 failed, and nobody was told/,
    ],
    [
      'a webhook that was accepted before it was written',
      {
        over: {
          posts: [
            {
              key: 'k1',
              kind: 'tools',
              deliveryId: 'd1',
              at: 0,
              answers: [{ status: 202, sessionId: 's-tools', at: 500 }],
            },
          ],
        },
      },
      /accepted-is-durable: 202 to d1 before it was written/,
    ],
    ['a run that nobody asked for', { tools: replaced(TOOLS, 3, run(1, 2)) }, /nobody asked for turn 2/],
    [
      'a run during an open window',
      {
        tools: replaced(TOOLS, 2, turn(1, 'chaos tools k1', { start_after: new Date(9_000).toISOString() })),
      },
      /its window was open/,
    ],
    [
      'a call that was started twice',
      { tools: replaced(TOOLS, 5, TOOLS[3] as Entry, TOOLS[4] as Entry) },
      /DOUBLED: 2 tool.started of call c1/,
    ],
    [
      'a command that was run twice',
      { over: { effects: new Map([['k1.0', 2]]) } },
      /DOUBLED: k1.0 was done 2 times/,
    ],
    ['a command that was never run', { over: { effects: new Map() } }, /LOST: k1.0 is recorded as done/],
    ['a process without an end', { process: without(PROCESS, 9) }, /exit-is-kept: p1 has 0 ends/],
    [
      'a process that was lost',
      { process: replaced(PROCESS, 9, ['process.lost', { process_id: 'p1', reason: 'who knows' }]) },
      /exit-is-kept: LOST: p1: who knows/,
    ],
    [
      'a wrong exit code',
      { process: replaced(PROCESS, 9, ['process.exited', { process_id: 'p1', exit_code: null }]) },
      /exited with null instead of 7/,
    ],
    ['a notice that was not given', { process: PROCESS.toSpliced(9, 3) }, /LOST: no notice of p1/],
    [
      'a notice that was given twice',
      {
        process: replaced(
          PROCESS,
          12,
          PROCESS[11] as Entry,
          turn(3, 'x', { source: 'process', notice: { process_id: 'p1' } }),
        ),
      },
      /DOUBLED: 2 notices of p1/,
    ],
    [
      'a notice of an exit that the model already knew',
      {
        process: replaced(
          PROCESS,
          9,
          ['process.completion-consumed', { process_id: 'p1', by: 'wait' }],
          PROCESS[8] as Entry,
        ),
      },
      /no-phantom-turns: a notice of p1/,
    ],
    [
      'a notice without a process',
      { process: without(PROCESS, 7) },
      /a notice \(9\) of a process that was not started/,
    ],
    [
      "an answer to somebody else's question",
      { tools: replaced(TOOLS, 7, final(1, 1, 'answer to plain k8')) },
      /no cross-talk: k1 was answered/,
    ],
    [
      'a view that differs from the fold',
      { over: { views: { actual: { sessions: [{ a: 2 }] }, folded: { sessions: [{ a: 1 }] } } } },
      /views-are-disposable: sessions/,
    ],
    [
      'an extra row in a view',
      { over: { views: { actual: { sessions: [{ a: 1 }, { a: 2 }] }, folded: { sessions: [{ a: 1 }] } } } },
      /views-are-disposable: sessions: 2 rows of 1/,
    ],
    ['a dead letter', { over: { deadLetters: ['s1: delivery: boom'] } }, /no dead letters/],
    [
      'a program that ended without a fault',
      { over: { falls: ['ingress ended (exit code 1)'] } },
      /nobody falls over/,
    ],
    [
      'a request that a platform would refuse',
      { over: { problems: ['empty text'] } },
      /protocols: empty text/,
    ],
    [
      'a status code that no sender expects',
      {
        over: {
          posts: [
            {
              key: 'k9',
              kind: 'plain',
              deliveryId: 'd9',
              at: 0,
              answers: [{ status: 500, sessionId: '', at: 1 }],
            },
          ],
        },
      },
      /d9 was answered 500/,
    ],
  ];

  it.each(planted)('%s', (_what, parts, finding) => {
    expect(found(parts)).toContainEqual(expect.stringMatching(finding));
  });

  it('a gap in a stream, and a second trace', () => {
    const events = history().events;
    const holed = events.filter(({ stream: id, version }) => !(id === 's-tools' && version === 5));
    expect(found({ over: { events: holed } })).toContainEqual(expect.stringMatching(/version 5 is missing/));
    const strayed = events.with(4, { ...(events[4] as LoggedEvent), traceparent: '00-ff-b7-01' });
    expect(found({ over: { events: strayed } })).toContainEqual(
      expect.stringMatching(/one-trace: .* 2 traces/),
    );
  });
});

describe('it accepts', () => {
  it('a marked second copy', () => {
    const received = [...RECEIVED, got('s-tools', 7, 'answer to tools k1', { marked: true })];
    const { violations, figures } = judge(history({ received }));
    expect(violations).toEqual([]);
    expect(figures.marked).toBe(1);
  });

  it('a dead answer to a target that is gone, and no other dead answer', () => {
    const dead = (output: number): Entry => ['delivery.dead', { output, reason: 'answered 410' }];
    const gone = replaced(
      replaced(TOOLS, 10, dead(7)),
      1,
      created('gone', 1, { url: 'http://127.0.0.1:9/tools' }),
    );
    expect(found({ tools: gone, received: RECEIVED.toSpliced(1, 1) })).toEqual([]);
    expect(found({ tools: replaced(TOOLS, 10, dead(7)), received: RECEIVED.toSpliced(1, 1) })).toEqual([
      expect.stringMatching(/LOST: output 7 was given up/),
    ]);
    expect(found({ telegram: replaced(TELEGRAM, 10, dead(5)), received: RECEIVED.toSpliced(3, 1) })).toEqual([
      expect.stringMatching(/LOST: output 5 was given up/),
    ]);
  });

  it('lost or interrupted runs that are resumed as the events say', () => {
    const interrupted: Entry = ['run.interrupted', { generation: 2, turn: 1, reason: 'drain' }];
    const resumed = [
      run(1),
      run(2, 1, { resumed: true, attempt: 2 }),
      interrupted,
      run(3, 1, { resumed: true, attempt: 2 }),
    ];
    const answered: Entry = final(3, 1, 'answer to tools k1');
    const tools = [...TOOLS.slice(0, 2), ...resumed, answered, ended, ...sent(7)];
    expect(found({ tools, received: RECEIVED.slice(1), over: { effects: new Map() } })).toEqual([]);
  });

  const putOff = (generation: number, atMs: number): Entry => [
    'run.put-off',
    { generation, turn: 1, reason: 'unavailable', retry_at: new Date(atMs).toISOString(), models: [] },
  ];
  const told: Entry = ['session.interim-status', { generation: 1, turn: 1, kind: 'waiting', text: 'later' }];
  const waited = (...entries: Entry[]): string[] => {
    const generation = 1 + entries.filter(([type]) => type === 'run.put-off').length;
    const tools = [
      ...TOOLS.slice(0, 2),
      ...entries,
      run(generation),
      final(generation, 1, 'answer to tools k1'),
      ended,
    ];
    const version = tools.length - 1;
    return found({
      tools: [...tools, ...sent(version)],
      received: [got('s-tools', version, 'answer to tools k1'), ...RECEIVED.slice(2)],
      over: { effects: new Map() },
    });
  };

  it('runs that were put off: not attempts, not resumed, and told once if the wait is long', () => {
    expect(waited(run(1), putOff(1, 9_000), run(2), putOff(2, 20_000))).toEqual([]);
    expect(waited(run(1), told, putOff(1, 90_000))).toEqual([]);
  });

  it('but not a put-off to a time that is over, nor a long wait that is told twice or never', () => {
    expect(waited(run(1), putOff(1, 3_000))).toEqual([expect.stringMatching(/which is over/)]);
    expect(waited(run(1), putOff(1, 90_000))).toEqual([expect.stringMatching(/nobody was told/)]);
    expect(waited(run(1), told, told, putOff(1, 90_000))).toEqual([expect.stringMatching(/told 2 times/)]);
  });

  it('a second sender after the time of the first is over, or after it failed', () => {
    const attempt = (number: number): Entry => [
      'delivery.attempted',
      { output: 7, attempt: number, target: 'http', deadline_seconds: number === 1 ? 0.5 : 5 },
    ];
    const failed: Entry = ['delivery.failed', { output: 7, attempt: 2 }];
    expect(found({ tools: replaced(TOOLS, 9, attempt(1), attempt(2), failed, attempt(3)) })).toEqual([]);
  });

  it('a model call of a runner that was frozen', () => {
    const modelCalls = [
      { key: 'k1', from: 0, until: 3_000 },
      { key: 'k1', from: 1_000, until: 2_000 },
    ];
    expect(found({ over: { modelCalls, faults: [frozen('agent-runner-2')] } })).toEqual([]);
    expect(found({ over: { modelCalls, faults: [frozen('delivery')] } })).not.toEqual([]);
  });

  it('a late answer, and counts it', () => {
    const received = RECEIVED.with(1, got('s-tools', 7, 'answer to tools k1', { at: 2_000 + LATE_MS + 1 }));
    expect(judge(history({ received: received.slice(0, 2) })).figures.late).toBe(1);
  });
});

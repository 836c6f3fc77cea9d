import {
  answer,
  callTool,
  deleteHintStream,
  eventually,
  fail,
  type ModelRequest,
  type ModelServer,
  type ModelStep,
  type Sink,
  type SinkPayload,
  say,
  startModelServer,
  startSink,
  startTestStack,
  TEST_SINK_SECRET,
  type TestStack,
  testConfig,
} from '@angelia/testkit';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import pg from 'pg';
import { eventsOf, message } from './admin.ts';
import { type Gate, gate } from './gate.ts';

// Seed 003: an answer was sent but not stored, so the next turn answered everything again. The sink shows what was sent, /v1
// shows what was stored, and the model server shows what the model was given.

interface Row {
  readonly role: string;
  readonly content: string;
  readonly silent?: boolean;
  readonly tool_calls?: readonly unknown[];
}

let sink: Sink;
let model: ModelServer;
let stack: TestStack;
let behaviours: Record<string, (request: ModelRequest) => ModelStep | Promise<ModelStep>>;
let never: Gate;

beforeAll(async () => {
  [sink, model] = await Promise.all([startSink({ secret: TEST_SINK_SECRET }), startModelServer()]);
  model.behave(async (request) => {
    const word = request.input.split(' ')[0] ?? '';
    return (await behaviours[word]?.(request)) ?? say(`answer to: ${request.input}`);
  });
  stack = await startTestStack({
    config: testConfig({
      sinkUrl: sink.url,
      modelUrl: model.baseUrl,
      agent: { toolsets: ['terminal'] },
    }),
  });
});

beforeEach(() => {
  behaviours = {};
  never = gate();
  sink.behave(answer(200));
});

afterEach(() => {
  never.open();
  expect(model.problems).toEqual([]);
});

afterAll(async () => {
  await stack?.stop();
  await Promise.all([sink?.stop(), model?.stop()]);
});

const requestsOf = (input: string) => model.requests.filter((request) => request.input === input);
const receivedOf = (id: string) => sink.received.filter(({ payload }) => payload.session_id === id);

async function post(text: string): Promise<string> {
  const { status, sessionId } = await stack.post({ body: { text } });
  expect(status).toBe(202);
  return sessionId;
}

async function transcript(id: string): Promise<Row[]> {
  return (await stack.adminGet<{ messages: Row[] }>(`/v1/sessions/${id}/transcript`)).messages;
}

async function conversation(id: string): Promise<string[]> {
  return (await transcript(id)).map(({ role, content }) => `${role}: ${content}`);
}

async function restart(...names: string[]): Promise<void> {
  const killed = names.map((name) => [name, stack.kill(name)] as const);
  for (const [name, pid] of killed) await stack.restarted(name, pid);
}

describe('seed 003: nothing is sent that is not in the transcript', () => {
  it('D1 every answer is in the transcript before the sink sees it', async () => {
    behaviours = { failing: () => fail(400) };
    const seen: { text: string; rows: string[]; event: unknown }[] = [];
    // The sink looks before it answers the request, so it sees what was stored when the message arrived.
    sink.behave(async ({ session_id: id, text, version }: SinkPayload) => {
      const [rows, events] = [await transcript(id), await stack.events(id)];
      const answers = rows.filter(({ role }) => role === 'assistant').map(({ content }) => content);
      seen.push({ text, rows: answers, event: events[version - 1]?.data.text });
      return answer(200);
    });
    const ids = await Promise.all([
      ...Array.from({ length: 10 }, (_, n) => post(`question ${n}`)),
      post('failing question'),
    ]);
    await stack.waitForEnd(ids[0] ?? '');
    const next = await message(stack, ids[0] ?? '', 'and another question');
    for (const id of [...ids, next]) await stack.waitForEnd(id, { settled: true });
    expect(seen).toHaveLength(12);
    for (const { text, rows, event } of seen) {
      expect(rows.at(-1)).toBe(text);
      expect(event).toBe(text);
    }
  });

  it('D2 an answer is exactly once in the transcript and at the sink, also when the sink fails first and the hints are lost', async () => {
    const refused = new Set<string>();
    sink.behave(({ session_id: id, text }: SinkPayload) => {
      // Every third one: after five failures in a row the circuit would open.
      if (refused.has(id) || !text.endsWith('9')) return answer(200);
      refused.add(id);
      return answer(503);
    });
    const ids = await Promise.all(Array.from({ length: 30 }, (_, n) => post(`once ${n}`)));
    await deleteHintStream(stack.natsUrl);
    for (const [n, id] of ids.entries()) {
      await stack.waitForEnd(id, { settled: true });
      expect(await conversation(id)).toEqual([`user: once ${n}`, `assistant: answer to: once ${n}`]);
      expect(eventsOf(await stack.events(id), 'session.final-response')).toHaveLength(1);
      expect(sink.answersOf(id)).toEqual([`answer to: once ${n}`]);
      expect(requestsOf(`once ${n}`)).toHaveLength(1);
    }
    expect(refused.size).toBe(3);
  });

  it.each([
    ['D3 an empty answer: no message, and the session ends', ''],
    ['D4 a [SILENT] answer is in the transcript and is not sent', '[SILENT] nothing to tell about this one'],
  ])('%s; the next turn goes on after it', async (_, text) => {
    behaviours = { hush: () => say(text) };
    const id = await post('hush now');
    expect(await stack.waitForEnd(id, { settled: true })).toMatchObject({
      outcome: 'succeeded',
      end_reason: 'webhook_complete',
      deliveries: { pending: 0, delivered: 0, dead: 0 },
    });
    expect(await transcript(id)).toMatchObject([
      { role: 'user', content: 'hush now' },
      { role: 'assistant', content: text, silent: true },
    ]);
    const next = await message(stack, id, `loud now, ${text.length}`);
    await stack.waitForEnd(next, { settled: true });
    expect(sink.answersOf(next)).toEqual([`answer to: loud now, ${text.length}`]);
    expect(receivedOf(id)).toEqual([]);
    expect(requestsOf('hush now').length).toBeGreaterThan(0);
  });

  describe('D5 delivery is killed (-9)', () => {
    it('D5 between writing and sending: after recovery it is sent once; one row', async () => {
      stack.freeze('delivery');
      const id = await post('written and not sent');
      await stack.waitForEnd(id);
      expect(receivedOf(id)).toEqual([]);
      await restart('delivery');
      await stack.waitForEnd(id, { settled: true });
      expect(receivedOf(id).map(({ payload }) => [payload.text, payload.possible_duplicate])).toEqual([
        ['answer to: written and not sent', false],
      ]);
      await expectOneRow(id, 'written and not sent');
    });

    it('D5 between sending and recording: at most one more message, marked as a possible duplicate; one row', async () => {
      sink.behave({ kind: 'hang' });
      const id = await post('sent and not recorded');
      await eventually(() => receivedOf(id).length === 1);
      sink.behave(answer(200));
      await restart('delivery');
      await stack.waitForEnd(id, { settled: true });
      expect(receivedOf(id).map(({ payload }) => [payload.text, payload.possible_duplicate])).toEqual([
        ['answer to: sent and not recorded', false],
        ['answer to: sent and not recorded', true],
      ]);
      expect(new Set(receivedOf(id).map(({ webhookId }) => webhookId)).size).toBe(1);
      await expectOneRow(id, 'sent and not recorded');
    });

    async function expectOneRow(id: string, input: string): Promise<void> {
      expect(await conversation(id)).toEqual([`user: ${input}`, `assistant: answer to: ${input}`]);
      expect(requestsOf(input)).toHaveLength(1);
    }
  });

  it('D6 a turn with tool-call rows and no final answer does not count as answered', async () => {
    let killed = false;
    behaviours = {
      tools: ({ results }) => {
        if (results.length === 0) return callTool('terminal', { command: 'echo it is done' });
        return killed ? say('now it is answered') : never.opened.then(() => say('never seen'));
      },
    };
    const id = await post('tools first');
    await eventually(() => requestsOf('tools first').length === 2);
    expect(await message(stack, id, 'and this')).toBe(id);
    const rows = await transcript(id);
    expect(rows.map(({ role }) => role)).toEqual(['user', 'assistant', 'tool']);
    expect(rows[1]?.tool_calls).toHaveLength(1);
    expect(await stack.session(id)).toMatchObject({ status: 'running', outcome: null });
    expect(receivedOf(id)).toEqual([]);

    killed = true;
    await restart('agent-runner');
    await stack.waitForEnd(id, { settled: true });
    expect(sink.answersOf(id)).toEqual(['now it is answered', 'answer to: and this']);
    const after = await transcript(id);
    expect(after.map(({ role }) => role)).toEqual([
      'user',
      'assistant',
      'tool',
      'assistant',
      'user',
      'assistant',
    ]);
    // The run went on from the result and did not start again.
    expect(requestsOf('tools first').map(({ results }) => results.length)).toEqual([0, 1, 1]);
    expect(eventsOf(await stack.events(id), 'tool.started')).toHaveLength(1);
  });

  it('D7 the log cannot be written: nothing is sent; when it can be written again, everything is sent once', async () => {
    const answered = gate();
    behaviours = { full: () => answered.opened.then(() => say('written late')) };
    await stack.hold('delivery');
    const waiting = await post('stored before');
    await stack.waitForEnd(waiting);
    const working = await post('full disk');
    await eventually(() => requestsOf('full disk').length === 1);
    const disk = await fullDisk();
    try {
      await stack.resume('delivery');
      answered.open();
      await eventually(async () => (await disk.refused('session.final-response')) > 0, {
        describe: 'the runner tries to write the answer',
      });
      await eventually(async () => (await disk.refused('delivery.attempted')) > 0, {
        describe: 'delivery tries to record an attempt',
      });
      const refused = await stack.post({ body: { text: 'not now' } });
      expect([refused.status, refused.headers.has('retry-after')]).toEqual([503, true]);
      expect([...receivedOf(waiting), ...receivedOf(working)]).toEqual([]);
      expect((await stack.session(working)).status).toBe('running');
    } finally {
      await disk.free();
    }
    for (const id of [waiting, working]) await stack.waitForEnd(id, { settled: true });
    expect(sink.answersOf(waiting)).toEqual(['answer to: stored before']);
    expect(sink.answersOf(working)).toEqual(['written late']);
    expect(await conversation(working)).toEqual(['user: full disk', 'assistant: written late']);
    expect(receivedOf(working).every(({ payload }) => !payload.possible_duplicate)).toBe(true);
  });

  it('D8 ten turns, sent during a run and after the end: roles alternate, and a replay answers nothing twice', async () => {
    const gates = new Map([1, 6].map((turn) => [turn, gate()]));
    behaviours = {
      turn: async ({ input }) => {
        await gates.get(Number(input.split(' ')[1]))?.opened;
        return say(`answer to: ${input}`);
      },
    };
    const first = await post('turn 1');
    await eventually(() => requestsOf('turn 1').length === 1);
    for (const turn of [2, 3, 4, 5]) expect(await message(stack, first, `turn ${turn}`)).toBe(first);
    gates.get(1)?.open();
    await stack.waitForEnd(first, { settled: true });
    const second = await message(stack, first, 'turn 6');
    await eventually(() => requestsOf('turn 6').length === 1);
    for (const turn of [7, 8]) expect(await message(stack, second, `turn ${turn}`)).toBe(second);
    gates.get(6)?.open();
    await stack.waitForEnd(second, { settled: true });
    const ids = [first, second];
    for (const turn of [9, 10]) {
      ids.push(await message(stack, ids.at(-1) ?? '', `turn ${turn}`));
      await stack.waitForEnd(ids.at(-1) ?? '', { settled: true });
    }
    expect(new Set(ids).size).toBe(4);
    const turns = Array.from({ length: 10 }, (_, n) => n + 1);
    const said = turns.flatMap((turn) => [`user: turn ${turn}`, `assistant: answer to: turn ${turn}`]);
    expect(await conversation(ids.at(-1) ?? '')).toEqual(said);
    const given = () => model.requests.filter(({ input }) => /^turn \d+$/.test(input));
    const answers = () => ids.flatMap((id) => sink.answersOf(id));
    const once = () => {
      expect(answers()).toEqual(turns.map((turn) => `answer to: turn ${turn}`));
      expect(given().map(({ input }) => input)).toEqual(turns.map((turn) => `turn ${turn}`));
    };
    once();
    for (const { body, input } of given()) {
      const roles = body.messages.map(({ role }) => role).filter((role) => role !== 'system');
      expect(roles).toEqual(roles.map((_, n) => (n % 2 === 0 ? 'user' : 'assistant')));
      expect(roles).toHaveLength(2 * Number(input.split(' ')[1]) - 1);
    }

    await restart('agent-runner', 'delivery');
    await deleteHintStream(stack.natsUrl);
    // After everything that a restart and new hints do with the old sessions.
    const last = await post('after the replay');
    await stack.waitForEnd(last, { settled: true });
    once();
    expect(await conversation(ids.at(-1) ?? '')).toEqual(said);
  });
});

/** From now on no event can be stored, as on a full disk. Sequences count the attempts by type, because no rollback undoes them. */
async function fullDisk() {
  const client = new pg.Client({ connectionString: stack.postgresUrl });
  await client.connect();
  const types = ['session.final-response', 'delivery.attempted'];
  const sequence = (type: string) => `public."refused ${type}"`;
  for (const type of types) await client.query(`CREATE SEQUENCE ${sequence(type)} MINVALUE 0`);
  const counts = types.map(
    (type) => `IF EXISTS (SELECT FROM stored WHERE type = '${type}') THEN
                 PERFORM nextval('${sequence(type)}'); END IF;`,
  );
  await client.query(
    `CREATE FUNCTION public.disk_full() RETURNS trigger SECURITY DEFINER LANGUAGE plpgsql AS $$ BEGIN
       IF NOT EXISTS (SELECT FROM stored) THEN RETURN NULL; END IF;
       ${counts.join('\n')}
       RAISE EXCEPTION 'could not extend file: No space left on device' USING ERRCODE = 'disk_full';
     END $$`,
  );
  await client.query(
    `CREATE TRIGGER disk_full AFTER INSERT ON angelia.events REFERENCING NEW TABLE AS stored
     FOR EACH STATEMENT EXECUTE FUNCTION public.disk_full()`,
  );
  return {
    async refused(type: string): Promise<number> {
      const { rows } = await client.query<{ n: number }>(
        `SELECT CASE WHEN is_called THEN last_value + 1 ELSE 0 END::int AS n FROM ${sequence(type)}`,
      );
      return rows[0]?.n ?? 0;
    },
    async free(): Promise<void> {
      await client.query('DROP TRIGGER disk_full ON angelia.events');
      await client.end();
    },
  };
}

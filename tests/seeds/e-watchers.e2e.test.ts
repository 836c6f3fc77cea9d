import { type ChildProcess, spawn } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { chmod, mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { withoutFences } from '@angelia/session';
import {
  callTool,
  closedGate,
  type EventView,
  eventually,
  type ModelRequest,
  type ModelServer,
  say,
  startModelServer,
  startTelegram,
  startTestStack,
  type TelegramMessage,
  type TelegramStandIn,
  type TestStack,
  testConfig,
} from '@angelia/testkit';
import { afterAll, afterEach, beforeAll, expect, it } from '@jest/globals';
import pg from 'pg';

// Seed 004: a watcher that restarts must still know where to report. E1 to E8 of SCENARIOS.md on the whole system, with real
// processes and a Telegram stand-in that has chats and threads.

const TOKEN = '123456789:AAtelegram-credential_of_35_letters_';
const WATCHERS = ['process-watcher', 'process-watcher-2'] as const;
/** The last pid that the kernel gave. The next one follows it. */
const LAST_PID = '/proc/sys/kernel/ns_last_pid';

let telegram: TelegramStandIn;
/** The messages that it had before it was down (E4). */
const messages: TelegramMessage[] = [];
let model: ModelServer;
let stack: TestStack;
/** Where commands write files for the test. Anybody may write there, because commands run as other users. */
let marks: string;

beforeAll(async () => {
  [telegram, model] = await Promise.all([startTelegram({ token: TOKEN }), startModelServer()]);
  model.behave(decideStep);
  marks = await mkdtemp(join(tmpdir(), 'angelia-marks-'));
  await chmod(marks, 0o1777);
  stack = await startTestStack({
    config: testConfig({
      sinkUrl: 'http://127.0.0.1:9',
      modelUrl: model.baseUrl,
      agent: { toolsets: ['terminal'] },
      targets: { telegram: { bot_token: TOKEN, api_base: telegram.url } },
      routes: {
        hook: {
          prompt: '{text}',
          agent: 'default',
          deliver: 'telegram',
          deliver_extra: { chat_id: '{chat}', message_thread_id: '{thread}' },
        },
      },
    }),
    replicas: 'process-watcher=2',
  });
});

afterEach(() => {
  expect(telegram.problems).toEqual([]);
  expect(model.problems).toEqual([]);
});

afterAll(async () => {
  await stack?.stop();
  await Promise.all([telegram?.stop(), model?.stop()]);
  if (marks !== undefined) await rm(marks, { recursive: true, force: true });
});

it('E1 process-watcher restarts while a process runs: the exit notice reaches the original chat and thread once', async () => {
  const gate = await closedGate(marks);
  const asked = await ask(`echo working; ${gate.wait}; echo done; exit 7`);
  const { process_id } = await started(asked);
  await answered(asked);
  for (const name of WATCHERS) await stack.restarted(name, stack.kill(name));
  await gate.open();
  await expectOneNotice(asked, `[Background process ${process_id} exited with exit code 7]\nworking\ndone`);
});

it('E2 the process exits while the watcher is down: the exit notice reaches the original chat and thread once', async () => {
  const gate = await closedGate(marks);
  const asked = await ask(`${gate.wait}; echo bye; exit 3`);
  const { process_id, pid } = await started(asked);
  await answered(asked);
  for (const name of WATCHERS) await killAndHold(name);
  await gate.open();
  await eventually(() => !isThere(Number(pid)), { describe: 'the process has ended' });
  expect(ofType(await stack.events(asked.id), 'process.exited')).toEqual([]);
  for (const name of WATCHERS) await stack.resume(name);
  await expectOneNotice(asked, `[Background process ${process_id} exited with exit code 3]\nbye`);
});

it('E3 the agent asked for no watch: no notice', async () => {
  const asked = await ask('exit 9', { notify_on_complete: false });
  const { process_id } = await started(asked);
  await eventually(async () => ofType(await stack.events(asked.id), 'process.exited').length === 1);
  await stack.waitForEnd(asked.id, { settled: true });
  const events = await stack.events(asked.id);
  expect(ofType(events, 'process.exited')[0]?.data).toMatchObject({ process_id, exit_code: 9 });
  expect(ofType(events, 'turn.requested')).toHaveLength(1);
  expect(ofType(events, 'session.ended')).toHaveLength(1);
  expect(shownAt(asked)).toEqual([expect.stringMatching(/^did /)]);
});

it('E4 the target is down when the notice is due: it is sent when the target is back', async () => {
  const gate = await closedGate(marks);
  const asked = await ask(`${gate.wait}; echo over; exit 4`);
  const { process_id } = await started(asked);
  await answered(asked);
  const { port } = telegram;
  messages.push(...telegram.messages);
  await telegram.stop();
  await gate.open();
  try {
    await eventually(async () => ofType(await stack.events(asked.id), 'delivery.failed').length > 0);
  } finally {
    telegram = await startTelegram({ token: TOKEN, port });
  }
  await expectOneNotice(asked, `[Background process ${process_id} exited with exit code 4]\nover`);
});

(canChoosePids() ? it : it.skip)(
  'E5 the pid was reused by another program: that one is neither adopted nor killed',
  async () => {
    const asked = await ask('echo working; exec sleep 300');
    const { process_id, pid } = await started(asked);
    await answered(asked);
    for (const name of WATCHERS) await killAndHold(name);
    // The process and its supervisor ended at the same time, so nobody kept the exit code.
    process.kill(parentOf(Number(pid)), 'SIGKILL');
    process.kill(Number(pid), 'SIGKILL');
    await eventually(() => !isThere(Number(pid)));
    const other = await programWithPid(Number(pid));
    try {
      // The kill request that the watcher finds after its restart must not hit the other program either.
      expect(await api('POST', `/v1/processes/${process_id}/kill`)).toBe(202);
      for (const name of WATCHERS) await stack.resume(name);
      await expectOneNotice(asked, `[Background process ${process_id} was lost]\nworking`);
      expect(await api('POST', `/v1/processes/${process_id}/kill`)).toBe(409);
      expect([other.exitCode, other.signalCode]).toEqual([null, null]);
      expect(isThere(Number(pid))).toBe(true);
    } finally {
      other.kill('SIGKILL');
    }
  },
);

it('E6 two watcher replicas; the one that has the process is frozen until its lease expires: one notice', async () => {
  const gate = await closedGate(marks);
  const asked = await ask(`${gate.wait}; echo slept; exit 6`);
  const { process_id, watcher } = await started(asked);
  await answered(asked);
  stack.freeze(String(watcher));
  try {
    await gate.open();
    // It counts as gone when its lease has expired.
    const ago = "UPDATE angelia.leases SET expires_at = now() - interval '1 s' WHERE holder = $1";
    await inDatabase((database) => database.query(ago, [`host:${watcher}`]));
    await eventually(async () => ofType(await stack.events(asked.id), 'process.exited').length === 1);
  } finally {
    stack.thaw(String(watcher));
  }
  await expectBothToReport();
  await expectOneNotice(asked, `[Background process ${process_id} exited with exit code 6]\nslept`);
});

it('E7 the watcher is killed between the notice and its record: no second turn', async () => {
  const gate = await closedGate(marks);
  const asked = await ask(`${gate.wait}; echo once; exit 5`);
  const { process_id, watcher } = await started(asked);
  await answered(asked);
  let killed = 0;
  await inDatabase(async (database) => {
    // Postgres has the exit but cannot commit it yet, and the watcher that sent it dies. Then Postgres commits, and no
    // service knows.
    await database.query('BEGIN; LOCK TABLE angelia.events IN EXCLUSIVE MODE');
    await gate.open();
    const waits = `SELECT 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND application_name = $1`;
    await eventually(async () => (await database.query(waits, [watcher])).rowCount, {
      describe: 'the watcher reports the exit',
    });
    killed = stack.kill(String(watcher));
    await eventually(() => !isThere(killed));
    await database.query('COMMIT');
  });
  await stack.restarted(String(watcher), killed);
  await expectBothToReport();
  await expectOneNotice(asked, `[Background process ${process_id} exited with exit code 5]\nonce`);
});

it('E8 the session was cancelled before the exit: the exit is recorded and starts no turn', async () => {
  const mark = join(marks, 'e8');
  const gate = await closedGate(marks);
  const asked = await ask(`${gate.wait}; echo ran on > ${mark}; exit 8`);
  const { process_id } = await started(asked);
  await answered(asked);
  expect(await api('POST', `/v1/sessions/${asked.id}/cancel`)).toBe(202);
  await gate.open();
  await eventually(async () => ofType(await stack.events(asked.id), 'process.exited').length === 1);
  await stack.waitForEnd(asked.id, { settled: true });
  const events = await stack.events(asked.id);
  expect(ofType(events, 'process.exited')[0]?.data).toMatchObject({ process_id, exit_code: 8 });
  expect(await readFile(mark, 'utf8')).toBe('ran on\n');
  expect(events.filter(({ type }) => type.startsWith('turn.') || type.startsWith('run.'))).toHaveLength(2);
  expect(ofType(events, 'session.ended')).toHaveLength(1);
  expect(shownAt(asked)).toEqual([expect.stringMatching(/^did /)]);
});

async function inDatabase(work: (database: pg.Client) => Promise<unknown>): Promise<void> {
  const database = new pg.Client({ connectionString: stack.postgresUrl });
  await database.connect();
  try {
    await work(database);
  } finally {
    await database.end();
  }
}

interface Asked {
  readonly id: string;
  readonly chat: string;
  readonly thread: number;
}

let posted = 0;
/** Each message comes from a new chat and thread. */
async function ask(command: string, more: Record<string, unknown> = {}): Promise<Asked> {
  posted += 1;
  const [chat, thread] = [String(-1_000 - posted), 40 + posted];
  const text = JSON.stringify({ command, background: true, notify_on_complete: true, ...more });
  const { status, sessionId } = await stack.post({ body: { text, chat, thread } });
  expect(status).toBe(202);
  return { id: sessionId, chat, thread };
}

/** The model runs the command of the message, and repeats the text of a notice. */
function decideStep(request: ModelRequest) {
  if (request.input.startsWith('[Background process')) return say(`noticed ${withoutFences(request.input)}`);
  const [result] = request.results;
  return result === undefined ? callTool('terminal', request.input) : say(`did ${result}`);
}

const ofType = (events: readonly EventView[], type: string) => events.filter((event) => event.type === type);

const started = ({ id }: Asked) =>
  eventually(async () => ofType(await stack.events(id), 'process.started').at(0)?.data, {
    describe: 'a process',
  });

/** What people see in that thread. */
const shownAt = ({ chat, thread }: Asked) =>
  messagesIn(chat)
    .filter(({ threadId }) => threadId === thread)
    .map(({ shown }) => shown);

const messagesIn = (chat: string) =>
  [...messages, ...telegram.messages].filter(({ chatId }) => chatId === chat);

const answered = (asked: Asked) => eventually(() => shownAt(asked).length === 1, { describe: 'an answer' });

/** The chat saw the answer of the turn and then the notice, once, in its own thread only. */
async function expectOneNotice(asked: Asked, notice: string): Promise<void> {
  await stack.waitForEnd(asked.id, { settled: true });
  const events = await stack.events(asked.id);
  expect(ofType(events, 'process.exited').length + ofType(events, 'process.lost').length).toBe(1);
  expect(ofType(events, 'turn.requested')).toHaveLength(2);
  expect(ofType(events, 'session.ended')).toHaveLength(1);
  expect(shownAt(asked)).toEqual([expect.stringMatching(/^did /), `noticed ${notice}`]);
  expect(messagesIn(asked.chat)).toHaveLength(2);
}

/** Starts new processes. By the time of their notices, all older ones have been reported. */
async function expectBothToReport(): Promise<void> {
  const heard = new Set<unknown>();
  while (heard.size < WATCHERS.length) {
    const asked = await ask('exit 0');
    heard.add((await started(asked)).watcher);
    await stack.waitForEnd(asked.id, { settled: true });
  }
}

/** Ends it like a crash, and prevents a restart. */
async function killAndHold(name: string): Promise<void> {
  stack.kill(name);
  await stack.hold(name);
}

async function api(method: string, path: string): Promise<number> {
  const response = await fetch(new URL(path, stack.baseUrl), {
    method,
    headers: { authorization: `Bearer ${stack.adminToken}` },
  });
  await response.text();
  return response.status;
}

function isThere(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

function parentOf(pid: number): number {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
  return Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1]);
}

/** Needs root. */
function canChoosePids(): boolean {
  try {
    writeFileSync(LAST_PID, readFileSync(LAST_PID, 'utf8'));
    return true;
  } catch {
    return false;
  }
}
function programWithPid(pid: number): Promise<ChildProcess> {
  return eventually(() => {
    writeFileSync(LAST_PID, String(pid - 1));
    const program = spawn('sleep', ['300'], { stdio: 'ignore' });
    if (program.pid === pid) return program;
    program.kill('SIGKILL'); // Another program has the pid: try again when that one has ended.
    return null;
  });
}

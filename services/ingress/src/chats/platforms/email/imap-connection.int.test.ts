import { eventually, type ImapStandIn, selfSigned, startImap } from '@angelia/testkit';
import { afterEach, describe, expect, it } from '@jest/globals';
import type { ChatUpdate, PlatformSettings } from '../../platform.ts';
import { emailPlatform } from './email.ts';

const PASSWORD = 'imap "secret"';
const started: ImapStandIn[] = [];
const stops: AbortController[] = [];

afterEach(async () => {
  for (const stop of stops.splice(0)) stop.abort();
  const all = started.splice(0);
  for (const server of all) await server.stop();
  expect(all.flatMap(({ problems }) => problems)).toEqual([]);
});

async function mailbox(options: Partial<Parameters<typeof startImap>[0]> = {}): Promise<ImapStandIn> {
  const server = await startImap({ user: 'bot@example.com', password: PASSWORD, ...selfSigned, ...options });
  started.push(server);
  return server;
}

let sent = 0;
function mail(text: string, more = ''): string {
  sent += 1;
  return `Authentication-Results: mx.test; dmarc=pass header.from=people.test\nFrom: jane@people.test\nSubject: x\nDate: ${new Date().toUTCString()}\nMessage-ID: <m${sent}@people.test>\nIn-Reply-To: <s@example.com>\n${more}\n${text}`;
}

/** The connection as ingress runs it: what it took, and the offset that became durable. */
function follow(
  server: ImapStandIn,
  offset: string | null,
  over: Record<string, unknown> = {},
  ca = selfSigned.cert,
) {
  const stop = new AbortController();
  stops.push(stop);
  const taken: ChatUpdate[] = [];
  const state = { offset, connected: 0 };
  const told: string[] = [];
  const settings: PlatformSettings = {
    chat: {
      imap: {
        host: server.host,
        port: server.port,
        security: 'tls',
        user: 'bot@example.com',
        password: PASSWORD,
        mailbox: 'INBOX',
        ...over,
      },
      authserv_id: 'mx.test',
      speakers: {},
    },
    target: { from: 'bot@example.com' },
  };
  const running = emailPlatform({ ca, timing: { idleMs: 60_000, pollMs: 20 } }).connection?.run({
    settings,
    signal: stop.signal,
    offset,
    connected: () => {
      state.connected += 1;
    },
    tell: (what) => told.push(what),
    take: async (updates, next) => {
      taken.push(...updates);
      if (next !== undefined) state.offset = next;
    },
  });
  const ended = (running ?? Promise.resolve()).then(
    () => null,
    (error: Error) => error,
  );
  return { taken, told, state, ended, stop: () => stop.abort() };
}

const texts = (updates: readonly ChatUpdate[]) =>
  updates.map((update) => (update.kind === 'message' ? update.text : update.kind));

describe('a mailbox', () => {
  it.each(['tls', 'starttls', 'none'] as const)(
    'is read with %s, and nothing older than the first connection',
    async (tls) => {
      const server = await mailbox({ tls });
      server.add(mail('old'));
      const connection = follow(server, null, { security: tls });
      await eventually(() => server.idling() === 1);
      expect(connection.state.offset).toBe('1700000000:1');
      server.add(mail('one'));
      await eventually(() => connection.taken.length === 1);
      await eventually(() => server.idling() === 1);
      server.add(mail('two'));
      server.add(mail('out of office', 'Auto-Submitted: auto-replied\n'));
      await eventually(() => connection.taken.length === 3);
      expect(texts(connection.taken)).toEqual(['one', 'two', 'other']);
      expect(connection.state.offset).toBe('1700000000:4');
      connection.stop();
      expect(await connection.ended).toBeNull();
    },
  );

  // `afterEach` sees that the server was told nothing wrong.
  it.each(['STARTTLS', 'CAPABILITY', 'AUTHENTICATE', 'EXAMINE', 'IDLE'])(
    'is left properly in the middle of %s',
    async (at) => {
      const asked = Promise.withResolvers<void>();
      const connections: ReturnType<typeof follow>[] = [];
      const server = await mailbox({
        tls: 'starttls',
        onCommand: (command) => {
          if (command !== at) return;
          connections[0]?.stop();
          asked.resolve();
        },
      });
      connections.push(follow(server, null, { security: 'starttls' }));
      await asked.promise;
      await connections[0]?.ended;
      await eventually(() => server.open() === 0);
    },
  );

  it('brings after a break what came meanwhile, in order, and nothing twice', async () => {
    const server = await mailbox();
    const first = follow(server, null);
    await eventually(() => server.idling() === 1);
    server.add(mail('one'));
    await eventually(() => first.taken.length === 1 && server.idling() === 1);
    server.cut();
    expect(await first.ended).toBeInstanceOf(Error);
    server.add(mail('two'));
    const gone = server.add(mail('deleted'));
    server.add(mail('three'));
    server.delete(gone);
    const second = follow(server, first.state.offset);
    await eventually(() => second.taken.length === 2);
    expect(texts(second.taken)).toEqual(['two', 'three']);
    const third = follow(server, second.state.offset);
    await eventually(() => server.idling() === 2);
    expect(third.taken).toEqual([]);
  });

  it('that was rebuilt is new: what is in it is not taken again, and the operator is told', async () => {
    const server = await mailbox();
    server.add(mail('old'));
    server.add(mail('older'));
    server.renumber(1_800_000_000);
    const connection = follow(server, '1700000000:1');
    await eventually(() => server.idling() === 1);
    expect(connection.taken).toEqual([]);
    expect(connection.state.offset).toBe('1800000000:2');
    expect(connection.told).toEqual([expect.stringContaining('numbers the mails of the mailbox anew')]);
  });

  it('of a server without IDLE is asked again and again, and one without AUTH=PLAIN gets a LOGIN', async () => {
    const server = await mailbox({ idle: false, plain: false });
    const connection = follow(server, null);
    await eventually(() => connection.state.offset !== null);
    server.add(mail('one'));
    // The stand-in tells nobody who does not wait in IDLE, so it is found by asking.
    await eventually(() => texts(connection.taken).join() === 'one');
    expect(server.commands).toContain('LOGIN');
  });

  it('with a mail that cannot be parsed goes on with the next one', async () => {
    const server = await mailbox();
    const connection = follow(server, null);
    await eventually(() => server.idling() === 1);
    const deep = Array.from(
      { length: 40 },
      (_, n) => `--b${n}\nContent-Type: multipart/mixed; boundary=b${n + 1}\n`,
    );
    server.add(mail(deep.join('\n'), 'Content-Type: multipart/mixed; boundary=b0\n'));
    server.add(mail('next'));
    await eventually(() => connection.taken.length === 2);
    expect(texts(connection.taken)).toEqual(['other', 'next']);
  });
});

describe('a connection', () => {
  it('is not made without TLS that is asked for, nor to a server that nobody vouches for', async () => {
    const open = await mailbox({ tls: 'none' });
    const error = await follow(open, null, { security: 'starttls' }).ended;
    expect(error?.message).toMatch(/refused STARTTLS/);
    // Asked for what it does not offer.
    expect((open.problems as string[]).splice(0)).toHaveLength(1);
    const server = await mailbox();
    expect(await follow(server, null, {}, '').ended).toBeInstanceOf(Error);
    expect([...open.commands, ...server.commands]).not.toContain('AUTHENTICATE PLAIN');
  });

  it('with a wrong password says so, and not the password', async () => {
    const server = await mailbox();
    const error = await follow(server, null, { password: 'wrong-password' }).ended;
    expect(error?.message).toMatch(/AUTHENTICATE/);
    expect(error?.message).not.toContain('wrong-password');
  });

  it('ends at once when it is told to', async () => {
    const server = await mailbox();
    const connection = follow(server, null);
    await eventually(() => server.idling() === 1);
    connection.stop();
    expect(await connection.ended).toBeNull();
    await eventually(() => server.commands.at(-1) === 'LOGOUT');
  });
});

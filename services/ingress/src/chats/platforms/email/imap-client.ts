import { connect as connectTcp, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';

/**
 * The part of IMAP that reading a mailbox needs (RFC 3501, with IDLE of RFC 2177). The mailbox is opened read-only, so
 * nothing of ours changes what its owner sees. One command at a time.
 */

export interface ImapServer {
  readonly host: string;
  readonly port: number;
  readonly security: 'tls' | 'starttls' | 'none';
  readonly user: string;
  readonly password: string;
  /** Of tests. */
  readonly ca?: string;
}

/** One response. Where a line has a literal, `literals` has its bytes in the same order. */
interface Response {
  readonly line: string;
  readonly literals: readonly Buffer[];
}

export class ImapError extends Error {
  override readonly name = 'ImapError';
}

/** An honest server sends no longer line. */
const LONGEST_LINE = 64 * 1024;
/** The server answers a command within this time. Large mailboxes take long to open. */
const ANSWER_MS = 60_000;
const CRLF = Buffer.from('\r\n');

export class ImapClient {
  #socket: Socket;
  readonly #server: ImapServer;
  readonly #largestLiteral: number;
  #buffered: Buffer = Buffer.alloc(0);
  #tag = 0;
  #capabilities: ReadonlySet<string> = new Set();
  #failure: Error | null = null;
  #wake: (() => void) | null = null;
  /** In IDLE the server takes nothing but DONE. Before its `+`, in a login and before TLS, no command is to be sent. */
  #takes: 'commands' | 'done' | 'nothing' = 'commands';
  /** The mailbox has changed since somebody last asked. */
  #changed = false;

  private constructor(socket: Socket, server: ImapServer, largestLiteral: number) {
    this.#server = server;
    this.#largestLiteral = largestLiteral;
    this.#socket = socket;
    this.#listen(socket);
  }

  /** Connects and logs in. @throws ImapError, or an error of the connection. None of them holds the password */
  static async open(server: ImapServer, largestLiteral: number, signal: AbortSignal): Promise<ImapClient> {
    const { host, port, security, ca } = server;
    const socket =
      security === 'tls'
        ? connectTls({ host, port, servername: serverName(host), ...(ca === undefined ? {} : { ca }) })
        : connectTcp({ host, port });
    const client = new ImapClient(socket, server, largestLiteral);
    const onAbort = () => client.close();
    signal.addEventListener('abort', onAbort, { once: true });
    socket.once('close', () => signal.removeEventListener('abort', onAbort));
    if (signal.aborted) client.close();
    try {
      await client.#greet();
      return client;
    } catch (error) {
      client.close();
      throw error;
    }
  }

  get hasIdle(): boolean {
    return this.#capabilities.has('IDLE');
  }

  /** Opens the mailbox without a right to change it. */
  async examine(mailbox: string): Promise<{ readonly uidValidity: number; readonly uidNext: number }> {
    const { untagged } = await this.#command(`EXAMINE ${quoted(mailbox)}`);
    const number = (name: string) =>
      Number(
        untagged.flatMap(({ line }) => new RegExp(`\\[${name} (\\d+)\\]`, 'i').exec(line)?.[1] ?? [])[0],
      );
    const uidValidity = number('UIDVALIDITY');
    if (!(uidValidity > 0))
      throw new ImapError('the server has no persistent numbers for its mails (UIDVALIDITY)');
    const uidNext = number('UIDNEXT');
    // Old servers leave it out. The number of the last mail says the same.
    return { uidValidity, uidNext: uidNext > 0 ? uidNext : ((await this.#lastUid()) ?? 0) + 1 };
  }

  async #lastUid(): Promise<number | null> {
    const { untagged } = await this.#command('UID FETCH * (UID)');
    return untagged.flatMap(uidOf).at(-1) ?? null;
  }

  /** The mails after this one, in their order. */
  async mailsAfter(
    uid: number,
  ): Promise<{ readonly uid: number; readonly size: number; readonly receivedAtMs: number }[]> {
    // Reset before the request, so that mails that arrive while the server answers are fetched by another request.
    this.#changed = false;
    const { untagged } = await this.#command(`UID FETCH ${uid + 1}:* (UID RFC822.SIZE INTERNALDATE)`);
    return untagged
      .flatMap((response) => {
        const [found] = uidOf(response);
        // `n:*` always has the last mail, also if its number is below n.
        if (found === undefined || found <= uid) return [];
        const size = Number(/RFC822\.SIZE (\d+)/i.exec(response.line)?.[1] ?? Number.NaN);
        const date = /INTERNALDATE "([^"]+)"/i.exec(response.line)?.[1] ?? '';
        const at = Date.parse(date.trim().replace(/^(\d{1,2})-([A-Za-z]{3})-/, '$1 $2 '));
        return [{ uid: found, size, receivedAtMs: Number.isNaN(at) ? Date.now() : at }];
      })
      .sort((a, b) => a.uid - b.uid);
  }

  /** The first bytes of a mail. Null: it was deleted meanwhile. */
  async beginningOf(uid: number, bytes: number): Promise<Buffer | null> {
    const { untagged } = await this.#command(`UID FETCH ${uid} (UID BODY.PEEK[]<0.${bytes}>)`);
    const found = untagged.find((response) => uidOf(response)[0] === uid && response.literals.length > 0);
    return found?.literals[0] ?? null;
  }

  /** Waits until the mailbox has something new, or the time is over. @throws if the connection broke */
  async idle(ms: number): Promise<void> {
    if (this.#changed) return;
    this.#takes = 'nothing';
    const tag = this.#send('IDLE');
    const first = await this.#until(
      ({ line }) => line.startsWith('+') || line.startsWith(`${tag} `),
      ANSWER_MS,
    );
    this.#takes = first.line.startsWith('+') ? 'done' : 'commands';
    if (this.#takes === 'commands') throw new ImapError('the server refused IDLE');
    const deadline = Date.now() + ms;
    while (!this.#changed && Date.now() < deadline) {
      if ((await this.#next(deadline - Date.now())) === null) break;
    }
    this.#socket.write('DONE\r\n');
    this.#takes = 'commands';
    await this.#finished(tag, 'IDLE');
  }

  /** For a server without IDLE: whatever is new comes with the answer. */
  async noop(): Promise<void> {
    await this.#command('NOOP');
  }

  get changed(): boolean {
    return this.#changed;
  }

  /** Politely, if the server still listens. */
  close(): void {
    if (this.#failure === null && this.#socket.writable) {
      if (this.#takes === 'nothing') this.#socket.end();
      else this.#socket.end(`${this.#takes === 'done' ? 'DONE\r\n' : ''}zz LOGOUT\r\n`);
    }
    this.#fail(new ImapError('the connection was closed'));
    this.#socket.destroySoon();
  }

  async #greet(): Promise<void> {
    const greeting = await this.#until(({ line }) => /^\* (OK|PREAUTH|BYE)\b/i.test(line), ANSWER_MS);
    if (!/^\* OK\b/i.test(greeting.line))
      throw new ImapError('the server sent no greeting, or needs no login');
    if (this.#server.security === 'starttls') {
      this.#takes = 'nothing';
      await this.#command('STARTTLS');
      // Whatever came before TLS may have been put there by somebody in between.
      if (this.#buffered.length > 0) throw new ImapError('the server sent data before TLS began');
      await this.#startTls();
      this.#takes = 'commands';
    }
    await this.#readCapabilities();
    await this.#login();
    await this.#readCapabilities();
  }

  async #startTls(): Promise<void> {
    const { host, ca } = this.#server;
    const plain = this.#socket;
    plain.removeAllListeners('data');
    const secure = connectTls({
      socket: plain,
      servername: serverName(host),
      // The name is checked, also if it is an address.
      host,
      ...(ca === undefined ? {} : { ca }),
    });
    this.#socket = secure;
    this.#listen(secure);
    await new Promise<void>((resolve, reject) => {
      secure.once('secureConnect', resolve);
      secure.once('error', reject);
      secure.once('close', () => reject(new ImapError('the connection broke before TLS began')));
    });
  }

  async #readCapabilities(): Promise<void> {
    const { untagged } = await this.#command('CAPABILITY');
    const names = untagged.flatMap(({ line }) => /^\* CAPABILITY (.*)$/i.exec(line)?.[1]?.split(' ') ?? []);
    this.#capabilities = new Set(names.map((name) => name.toUpperCase()));
  }

  async #login(): Promise<void> {
    const { user, password } = this.#server;
    if (this.#capabilities.has('AUTH=PLAIN')) {
      this.#takes = 'nothing';
      const tag = this.#send('AUTHENTICATE PLAIN');
      const asked = await this.#until(
        ({ line }) => line.startsWith('+') || line.startsWith(`${tag} `),
        ANSWER_MS,
      );
      if (!asked.line.startsWith('+'))
        throw new ImapError(`the server refused to log in: ${saidIn(asked.line)}`);
      this.#socket.write(`${Buffer.from(`\0${user}\0${password}`).toString('base64')}\r\n`);
      await this.#finished(tag, 'AUTHENTICATE');
      this.#takes = 'commands';
      return;
    }
    if (this.#capabilities.has('LOGINDISABLED')) throw new ImapError('the server offers no way to log in');
    await this.#finished(this.#send(`LOGIN ${quoted(user)} ${quoted(password)}`), 'LOGIN');
  }

  async #command(text: string): Promise<{ readonly untagged: readonly Response[] }> {
    return this.#finished(this.#send(text), text.split(' ', 2).join(' '));
  }

  #send(text: string): string {
    this.#tag += 1;
    const tag = `a${this.#tag}`;
    if (this.#failure !== null) throw this.#failure;
    this.#socket.write(`${tag} ${text}\r\n`);
    return tag;
  }

  /** @param name of the command, for the error. Its arguments may hold the password */
  async #finished(tag: string, name: string): Promise<{ readonly untagged: readonly Response[] }> {
    const untagged: Response[] = [];
    const last = await this.#until((response) => {
      if (response.line.startsWith(`${tag} `)) return true;
      untagged.push(response);
      return false;
    }, ANSWER_MS);
    if (!/^\S+ OK\b/i.test(last.line))
      throw new ImapError(`the server refused ${name}: ${saidIn(last.line)}`);
    return { untagged };
  }

  async #until(wanted: (response: Response) => boolean, ms: number): Promise<Response> {
    for (;;) {
      const response = await this.#next(ms);
      if (response === null) throw new ImapError('the server does not answer');
      if (wanted(response)) return response;
      if (/^\* BYE\b/i.test(response.line)) throw new ImapError(`the server left: ${saidIn(response.line)}`);
    }
  }

  /** Null: nothing came within the time. */
  async #next(ms: number): Promise<Response | null> {
    const deadline = Date.now() + ms;
    for (;;) {
      const response = this.#take();
      if (response !== null) {
        // A server tells about new mail whenever it likes, also in the answer to another command.
        if (/^\* \d+ EXISTS\b/i.test(response.line)) this.#changed = true;
        return response;
      }
      if (this.#failure !== null) throw this.#failure;
      const left = deadline - Date.now();
      if (left <= 0) return null;
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, left);
        this.#wake = () => {
          clearTimeout(timer);
          resolve();
        };
      });
      this.#wake = null;
    }
  }

  /** One whole response of what has come so far. */
  #take(): Response | null {
    const literals: Buffer[] = [];
    let line = '';
    let at = 0;
    for (;;) {
      const end = this.#buffered.indexOf(CRLF, at);
      if (end === -1) {
        if (this.#buffered.length - at > LONGEST_LINE)
          this.#fail(new ImapError('a line of the server is too long'));
        return null;
      }
      line += this.#buffered.toString('latin1', at, end);
      at = end + 2;
      const literal = /\{(\d{1,10})\+?\}$/.exec(line)?.[1];
      if (literal === undefined) break;
      const length = Number(literal);
      if (length > this.#largestLiteral || literals.length > 0) {
        this.#fail(new ImapError('the server sent more than was requested'));
        return null;
      }
      if (this.#buffered.length < at + length) return null;
      literals.push(this.#buffered.subarray(at, at + length));
      at += length;
    }
    this.#buffered = this.#buffered.subarray(at);
    return { line, literals };
  }

  #listen(socket: Socket): void {
    socket.setKeepAlive(true, 60_000);
    socket.setNoDelay(true);
    socket.on('data', (data: Buffer) => {
      this.#buffered = this.#buffered.length === 0 ? data : Buffer.concat([this.#buffered, data]);
      this.#wake?.();
    });
    socket.on('error', (error) => this.#fail(error));
    socket.on('close', () => this.#fail(new ImapError('the server closed the connection')));
  }

  #fail(error: Error): void {
    this.#failure ??= error;
    this.#wake?.();
  }
}

function uidOf({ line }: Response): number[] {
  const uid = /^\* \d+ FETCH \(.*?\bUID (\d+)/i.exec(line)?.[1];
  return uid === undefined ? [] : [Number(uid)];
}

/** What the server says after OK, NO or BAD, in one line. */
function saidIn(line: string): string {
  return line
    .replace(/^\S+ \S+ ?/, '')
    .replaceAll(/[^\x20-\x7e]/g, ' ')
    .slice(0, 200);
}

/** @throws ImapError for what a quoted string cannot hold */
function quoted(text: string): string {
  if (/[^\x20-\x7e]/.test(text))
    throw new ImapError('a name or password of this mailbox cannot be sent: use ASCII');
  return `"${text.replaceAll(/["\\]/g, '\\$&')}"`;
}

/** TLS names no address (RFC 6066). */
function serverName(host: string): string {
  return /^[\d.]+$|:/.test(host) ? '' : host;
}

import { type AddressInfo, createServer, type Socket } from 'node:net';
import { createSecureContext, TLSSocket } from 'node:tls';

/** A mail in the mailbox. */
interface StoredMail {
  readonly uid: number;
  readonly raw: Buffer;
  readonly receivedAt: Date;
}

export interface ImapStandIn {
  readonly host: string;
  readonly port: number;
  /** Commands that break RFC 3501 or RFC 2177, or that change the mailbox. Must be empty at the end of a test. */
  readonly problems: readonly string[];
  /** The commands of all connections, without the password. */
  readonly commands: readonly string[];
  /** How many connections wait in IDLE now. */
  idling(): number;
  /** How many connections are open. */
  open(): number;
  /** A mail arrives. Whoever waits in IDLE is told. Returns its UID. */
  add(raw: string): number;
  delete(uid: number): void;
  /** The mailbox was rebuilt: all mails have new numbers. */
  renumber(uidValidity: number): void;
  /** Cuts all connections, as a server does that restarts. */
  cut(): void;
  stop(): Promise<void>;
}

interface ImapOptions {
  readonly user: string;
  readonly password: string;
  /** `tls` (default) from the start, `starttls` offers it, `none` has no TLS. */
  readonly tls?: 'tls' | 'starttls' | 'none';
  readonly key?: string;
  readonly cert?: string;
  readonly idle?: boolean;
  /** `LOGIN` only, without AUTH=PLAIN. */
  readonly plain?: boolean;
  /** Called before the server answers a command. */
  readonly onCommand?: (command: string) => void;
}

/** A real IMAP server for one mailbox, INBOX: the subset that reading needs. Everything else is refused with BAD. */
export async function startImap(options: ImapOptions): Promise<ImapStandIn> {
  const { user, password, tls = 'tls', idle = true, plain = true } = options;
  const mails: StoredMail[] = [];
  const problems: string[] = [];
  const commands: string[] = [];
  const connections = new Set<Connection>();
  let uidValidity = 1_700_000_000;
  let nextUid = 1;

  class Connection {
    socket: Socket;
    secure = tls === 'tls';
    state: 'greeted' | 'authenticated' | 'selected' = 'greeted';
    idleTag: string | null = null;
    authTag: string | null = null;
    #buffered = '';

    constructor(socket: Socket) {
      this.socket = socket;
      this.listen(socket);
      this.say('* OK [CAPABILITY IMAP4rev1] ready');
    }

    listen(socket: Socket): void {
      this.socket = socket;
      socket.on('error', () => {}); // tests include clients that hang up
      socket.on('data', (data: Buffer) => {
        this.#buffered += data.toString('latin1');
        for (let end = this.#buffered.indexOf('\r\n'); end !== -1; end = this.#buffered.indexOf('\r\n')) {
          const line = this.#buffered.slice(0, end);
          this.#buffered = this.#buffered.slice(end + 2);
          this.take(line);
        }
      });
    }

    say(line: string): void {
      this.socket.write(`${line}\r\n`, 'latin1');
    }

    wrong(tag: string, problem: string): void {
      problems.push(problem);
      this.say(`${tag} BAD ${problem}`);
    }

    take(line: string): void {
      if (this.idleTag !== null) {
        const tag = this.idleTag;
        this.idleTag = null;
        if (line !== 'DONE') {
          this.wrong(tag, `${line} instead of DONE`);
          return;
        }
        this.say(`${tag} OK IDLE terminated`);
        return;
      }
      if (this.authTag !== null) {
        const tag = this.authTag;
        this.authTag = null;
        const [zid, name, secret] = Buffer.from(line, 'base64').toString('utf8').split('\0');
        if (zid !== '' || name === undefined || secret === undefined) {
          this.wrong(tag, 'AUTHENTICATE PLAIN is not `\\0user\\0password`');
          return;
        }
        this.logIn(tag, name, secret);
        return;
      }
      const [, tag, name, rest] = /^([A-Za-z0-9]{1,32}) ((?:UID )?[A-Za-z]+)(?: (.*))?$/.exec(line) ?? [];
      if (tag === undefined || name === undefined) {
        this.wrong('*', `not a command: ${line}`);
        return;
      }
      const command = name.toUpperCase();
      options.onCommand?.(command);
      commands.push(command === 'LOGIN' ? command : line.slice(tag.length + 1));
      switch (command) {
        case 'CAPABILITY':
          this.capability(tag);
          return;
        case 'NOOP':
          this.say(`${tag} OK NOOP completed`);
          return;
        case 'LOGOUT':
          this.say('* BYE');
          this.say(`${tag} OK LOGOUT completed`);
          this.socket.end();
          return;
        case 'STARTTLS':
          this.startTls(tag);
          return;
        case 'AUTHENTICATE':
          if (this.mustBe('greeted', tag, command) && this.mustBeSecret(tag)) {
            if (rest !== 'PLAIN' || !plain) {
              this.say(`${tag} NO unsupported mechanism`);
              return;
            }
            this.authTag = tag;
            this.say('+ ');
          }
          return;
        case 'LOGIN': {
          if (!this.mustBe('greeted', tag, command) || !this.mustBeSecret(tag)) return;
          const [, name = '', secret = ''] =
            /^("(?:[^"\\]|\\["\\])*") ("(?:[^"\\]|\\["\\])*")$/.exec(rest ?? '') ?? [];
          if (name === '') {
            this.wrong(tag, 'LOGIN needs two strings');
            return;
          }
          this.logIn(tag, unquoted(name), unquoted(secret));
          return;
        }
        case 'EXAMINE':
          if (!this.mustBe('authenticated', tag, command)) return;
          if (!/^"?INBOX"?$/i.test(rest ?? '')) {
            this.say(`${tag} NO no such mailbox`);
            return;
          }
          this.state = 'selected';
          this.say(`* ${mails.length} EXISTS`);
          this.say('* 0 RECENT');
          this.say('* FLAGS (\\Seen \\Deleted)');
          this.say(`* OK [UIDVALIDITY ${uidValidity}] UIDs valid`);
          this.say(`* OK [UIDNEXT ${nextUid}] predicted next UID`);
          this.say(`${tag} OK [READ-ONLY] EXAMINE completed`);
          return;
        case 'IDLE':
          if (!this.mustBe('selected', tag, command)) return;
          if (!idle || rest !== undefined) {
            this.wrong(tag, 'IDLE is not offered, or has arguments');
            return;
          }
          this.idleTag = tag;
          this.say('+ idling');
          return;
        case 'UID FETCH':
          if (this.mustBe('selected', tag, command)) this.fetch(tag, rest ?? '');
          return;
        default:
          // STORE, EXPUNGE and the like would change what the owner of the mailbox sees.
          this.wrong(tag, `${command} is not for us`);
          return;
      }
    }

    mustBe(state: Connection['state'], tag: string, command: string): boolean {
      if (this.state === state) return true;
      this.wrong(tag, `${command} while ${this.state}`);
      return false;
    }

    mustBeSecret(tag: string): boolean {
      if (this.secure || tls === 'none') return true;
      this.wrong(tag, 'a password over an open line');
      return false;
    }

    capability(tag: string): void {
      const offered = [
        'IMAP4rev1',
        ...(idle ? ['IDLE'] : []),
        ...(tls === 'starttls' && !this.secure ? ['STARTTLS', 'LOGINDISABLED'] : plain ? ['AUTH=PLAIN'] : []),
      ];
      this.say(`* CAPABILITY ${offered.join(' ')}`);
      this.say(`${tag} OK CAPABILITY completed`);
    }

    startTls(tag: string): void {
      if (tls !== 'starttls' || this.secure) {
        this.wrong(tag, 'STARTTLS is not offered');
        return;
      }
      this.say(`${tag} OK begin TLS`);
      this.socket.removeAllListeners('data');
      this.secure = true;
      this.listen(new TLSSocket(this.socket, { isServer: true, secureContext: contextOf(options) }));
    }

    logIn(tag: string, name: string, secret: string): void {
      if (name !== user || secret !== password) {
        this.say(`${tag} NO [AUTHENTICATIONFAILED] no`);
        return;
      }
      this.state = 'authenticated';
      this.say(`${tag} OK logged in`);
    }

    fetch(tag: string, rest: string): void {
      const [, from, to, items] = /^(\d+|\*)(?::(\d+|\*))? \(([^()]+)\)$/.exec(rest) ?? [];
      if (from === undefined || items === undefined) {
        this.wrong(tag, `UID FETCH ${rest}`);
        return;
      }
      const wanted = items.split(' ');
      const unknown = wanted.find(
        (item) => !/^(?:UID|RFC822\.SIZE|INTERNALDATE|BODY\.PEEK\[\]<0\.\d+>)$/.test(item),
      );
      // BODY[] without PEEK would set \Seen, which EXAMINE forbids.
      if (unknown !== undefined) {
        this.wrong(tag, `UID FETCH of ${unknown}`);
        return;
      }
      const last = mails.at(-1)?.uid ?? 0;
      const numberOf = (text: string) => (text === '*' ? last : Number(text));
      const [a, b] = [numberOf(from), numberOf(to ?? from)];
      // RFC 3501: the order of a range does not matter, so `9:*` has the last mail also if it is number 7.
      const [low, high] = [Math.min(a, b), Math.max(a, b)];
      mails.forEach((mail, index) => {
        if (mail.uid < low || mail.uid > high) return;
        const parts = wanted.map((item) => itemOf(item, mail));
        this.socket.write(`* ${index + 1} FETCH (`, 'latin1');
        parts.forEach((part, at) => {
          this.socket.write(Buffer.concat([Buffer.from(at === 0 ? '' : ' '), part]));
        });
        this.say(')');
      });
      this.say(`${tag} OK FETCH completed`);
    }
  }

  const server = createServer((socket) => {
    const start =
      tls === 'tls' ? new TLSSocket(socket, { isServer: true, secureContext: contextOf(options) }) : socket;
    socket.on('error', () => {});
    const connection = new Connection(start);
    connections.add(connection);
    socket.on('close', () => connections.delete(connection));
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(0, '127.0.0.1', resolve);
  });
  const cut = () => {
    for (const { socket } of connections) socket.destroy();
    connections.clear();
  };
  return {
    host: '127.0.0.1',
    port: (server.address() as AddressInfo).port,
    problems,
    commands,
    open: () => connections.size,
    idling: () => [...connections].filter(({ idleTag }) => idleTag !== null).length,
    add(raw) {
      const uid = nextUid;
      nextUid += 1;
      mails.push({ uid, raw: Buffer.from(raw.replaceAll(/\r?\n/g, '\r\n')), receivedAt: new Date() });
      for (const one of connections) if (one.idleTag !== null) one.say(`* ${mails.length} EXISTS`);
      return uid;
    },
    delete(uid) {
      const index = mails.findIndex((mail) => mail.uid === uid);
      if (index !== -1) mails.splice(index, 1);
    },
    renumber(next) {
      uidValidity = next;
      const all = mails.splice(0);
      nextUid = 1;
      for (const mail of all) {
        mails.push({ ...mail, uid: nextUid });
        nextUid += 1;
      }
    },
    cut,
    stop: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        cut();
      }),
  };
}

function contextOf({ key, cert }: ImapOptions) {
  return createSecureContext({
    ...(key === undefined ? {} : { key }),
    ...(cert === undefined ? {} : { cert }),
  });
}

function itemOf(item: string, { uid, raw, receivedAt }: StoredMail): Buffer {
  if (item === 'UID') return Buffer.from(`UID ${uid}`);
  if (item === 'RFC822.SIZE') return Buffer.from(`RFC822.SIZE ${raw.length}`);
  if (item === 'INTERNALDATE') return Buffer.from(`INTERNALDATE "${internalDate(receivedAt)}"`);
  const bytes = raw.subarray(0, Number(/<0\.(\d+)>$/.exec(item)?.[1]));
  return Buffer.concat([Buffer.from(`BODY[]<0> {${bytes.length}}\r\n`), bytes]);
}

/** ` 7-Nov-2026 09:05:01 +0000` */
function internalDate(date: Date): string {
  const [, day = '', month, year, time] = /^\w+, (\d+) (\w+) (\d+) ([\d:]+)/.exec(date.toUTCString()) ?? [];
  return `${day.replace(/^0/, ' ')}-${month}-${year} ${time} +0000`;
}

function unquoted(text: string): string {
  return text.slice(1, -1).replaceAll(/\\(["\\])/g, '$1');
}

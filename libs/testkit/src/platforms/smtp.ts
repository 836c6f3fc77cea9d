import type { AddressInfo } from 'node:net';
import PostalMime, { type Email } from 'postal-mime';
import { SMTPServer } from 'smtp-server';

type SmtpStage = 'AUTH' | 'MAIL' | 'RCPT' | 'DATA';

/** What the server does with a mail, and at which stage. The rest is as for the HTTP stand-ins. */
export type SmtpBehaviour =
  | { readonly kind: 'take' }
  | {
      readonly kind: 'refuse';
      readonly at: SmtpStage;
      readonly code: number;
      readonly text: string;
    }
  /** The connection is cut at once. */
  | { readonly kind: 'reset' }
  /** The mail is read and not taken, and there is no answer. */
  | { readonly kind: 'hang' }
  /** The mail is taken, and the sender gets no answer. */
  | { readonly kind: 'cut-off' }
  /** The mail is taken, and the answer is not SMTP. */
  | { readonly kind: 'garbled' };

interface ReceivedMail {
  readonly from: string;
  /** From the envelope. */
  readonly to: readonly string[];
  readonly raw: string;
  readonly mail: Email;
  /** Whether it arrived over TLS. */
  readonly secure: boolean;
  readonly user: string | null;
}

export interface SmtpStandIn {
  readonly host: string;
  readonly port: number;
  /** The mails that a mailbox would show, in order. */
  readonly mails: readonly ReceivedMail[];
  /** Completely read mails, whether taken or not. */
  readonly received: readonly ReceivedMail[];
  /** User names of login attempts. */
  readonly logins: readonly string[];
  /** The commands of each connection that has ended, without their arguments. */
  readonly conversations: readonly (readonly string[])[];
  behave(behaviour: SmtpBehaviour): void;
  next(...behaviours: SmtpBehaviour[]): void;
  /** From now on exactly these recipients are refused. */
  refuseRecipient(address: string, code: number, text: string): void;
  stop(): Promise<void>;
}

interface SmtpOptions {
  readonly user?: string;
  readonly password?: string;
  /** `starttls` (default) offers TLS, `tls` uses it from the start, `none` has no TLS. */
  readonly tls?: 'starttls' | 'tls' | 'none';
  readonly key?: string;
  readonly cert?: string;
}

/** A real SMTP server (smtp-server). It stores the mails that it takes and can fail in every way that a server fails. */
export async function startSmtp(options: SmtpOptions = {}): Promise<SmtpStandIn> {
  const mails: ReceivedMail[] = [];
  const received: ReceivedMail[] = [];
  const logins: string[] = [];
  const conversations: string[][] = [];
  const commands = new Map<string, string[]>();
  const queued: SmtpBehaviour[] = [];
  const refusedRecipients = new Map<string, { code: number; text: string }>();
  let always: SmtpBehaviour = { kind: 'take' };
  /** By connection. Each has one mail. */
  const behaviours = new Map<string, SmtpBehaviour>();
  const tls = options.tls ?? 'starttls';
  const refusal = (code: number, text: string) => Object.assign(new Error(text), { responseCode: code });
  const behaviourOf = (id: string): SmtpBehaviour => behaviours.get(id) ?? always;
  const refusedAt = (id: string, stage: SmtpStage) => {
    const behaviour = behaviourOf(id);
    return behaviour.kind === 'refuse' && behaviour.at === stage
      ? refusal(behaviour.code, behaviour.text)
      : null;
  };

  const server = new SMTPServer({
    secure: tls === 'tls',
    ...(options.key === undefined ? {} : { key: options.key }),
    ...(options.cert === undefined ? {} : { cert: options.cert }),
    disabledCommands: tls === 'none' ? ['STARTTLS'] : [],
    authOptional: options.user === undefined,
    allowInsecureAuth: tls === 'none',
    disableReverseLookup: true,
    logger: commandLog((id, command) => {
      commands.set(id, [...(commands.get(id) ?? []), command]);
    }),
    onClose(session) {
      conversations.push(commands.get(session.id) ?? []);
    },
    onConnect(session, callback) {
      const behaviour = queued.shift() ?? always;
      behaviours.set(session.id, behaviour);
      if (behaviour.kind === 'reset') cut(session.id);
      else callback();
    },
    onAuth(auth, session, callback) {
      logins.push(auth.username ?? '');
      const refused = refusedAt(session.id, 'AUTH');
      if (refused !== null) return callback(refused);
      if (auth.username === options.user && auth.password === options.password) {
        callback(null, { user: auth.username });
      } else callback(refusal(535, '5.7.8 Authentication credentials invalid'));
    },
    onMailFrom(_address, session, callback) {
      callback(refusedAt(session.id, 'MAIL'));
    },
    onRcptTo(address, session, callback) {
      const refused = refusedRecipients.get(address.address);
      callback(refused ? refusal(refused.code, refused.text) : refusedAt(session.id, 'RCPT'));
    },
    onData(stream, session, callback) {
      const parts: Buffer[] = [];
      stream.on('data', (part: Buffer) => parts.push(part));
      stream.on('end', () => {
        const raw = Buffer.concat(parts);
        void PostalMime.parse(raw).then((mail) => {
          const { mailFrom, rcptTo } = session.envelope;
          const one: ReceivedMail = {
            from: mailFrom === false ? '' : mailFrom.address,
            to: rcptTo.map(({ address }) => address),
            raw: raw.toString('utf8'),
            mail,
            secure: session.secure,
            user: typeof session.user === 'string' ? session.user : null,
          };
          received.push(one);
          const behaviour = behaviourOf(session.id);
          const refused = refusedAt(session.id, 'DATA');
          if (behaviour.kind === 'hang') return;
          if (behaviour.kind === 'cut-off') {
            mails.push(one);
            cut(session.id);
            return;
          }
          if (refused === null) mails.push(one);
          if (behaviour.kind === 'garbled') {
            say(session.id, '?? queued ??');
            return;
          }
          callback(refused, `2.0.0 Ok: queued as ${mails.length}`);
        });
      });
    },
  });
  // smtp-server passes the session to a handler, but not the socket.
  const cut = (id?: string) => {
    for (const connection of server.connections) {
      if (id === undefined || connection.id === id) connection._socket.destroy();
    }
  };
  const say = (id: string, line: string) => {
    for (const connection of server.connections) {
      if (connection.id === id) connection._socket.write(`${line}\r\n`);
    }
  };
  server.on('error', () => {}); // tests include clients that hang up
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(0, '127.0.0.1', resolve);
  });
  return {
    host: '127.0.0.1',
    port: (server.server.address() as AddressInfo).port,
    mails,
    received,
    logins,
    conversations,
    behave(behaviour) {
      always = behaviour;
    },
    next(...more) {
      queued.push(...more);
    },
    refuseRecipient(address, code, text) {
      refusedRecipients.set(address, { code, text });
    },
    stop: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        cut();
      }),
  };
}

/** smtp-server tells its logger, and nobody else, which commands it gets. */
function commandLog(onCommand: (connection: string, command: string) => void) {
  const nothing = () => {};
  return {
    level: nothing,
    trace: nothing,
    debug: (entry: { tnx?: string; cid?: string; command?: string }) => {
      if (entry.tnx === 'command') onCommand(entry.cid ?? '', entry.command ?? '');
    },
    info: nothing,
    warn: nothing,
    error: nothing,
    fatal: nothing,
  };
}

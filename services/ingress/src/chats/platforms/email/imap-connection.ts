import type { ChatConnection, ChatUpdate, ConnectionContext, PlatformSettings } from '../../platform.ts';
import { ImapClient, type ImapServer } from './imap-client.ts';
import { parseMime } from './parse-mime.ts';
import { readMail } from './read-mail.ts';

/**
 * A mailbox by IMAP. The offset is UIDVALIDITY and the number of the last mail (UID): whether a mail was read (`\Seen`) is for
 * people. The first connection takes nothing that was there before it, and says so in the log, so that what comes while
 * nobody is connected is taken later.
 */

/** RFC 2177: "re-issue it at least every 29 minutes to avoid being logged off". */
const IDLE_MS = 29 * 60_000;
/** Of a server without IDLE. */
const POLL_MS = 60_000;
/** A mail with some photos. */
const LARGEST_MAIL = 12 * 1024 * 1024;
/** Of a larger mail: its text comes first, and its files are not taken anyway. */
const BEGINNING = 256 * 1024;
/**
 * The offset is recorded with what a mail starts. Most mails may start nothing, so it is also recorded alone after so many:
 * otherwise they are read again at each start.
 */
const RECORD_EVERY = 50;

export interface ImapTiming {
  readonly idleMs: number;
  readonly pollMs: number;
}

export function imapConnection({
  ca,
  timing = { idleMs: IDLE_MS, pollMs: POLL_MS },
}: {
  readonly ca?: string;
  readonly timing?: ImapTiming;
} = {}): ChatConnection {
  return {
    account(settings) {
      const { host, user, mailbox } = mailboxOf(settings);
      return `${user}@${host}/${mailbox}`;
    },

    async run(context) {
      const { settings, signal, connected } = context;
      const { mailbox, ...server } = mailboxOf(settings);
      const given = ca === undefined ? server : { ...server, ca };
      const client = await ImapClient.open(given, LARGEST_MAIL + 1024, signal);
      try {
        const { uidValidity, uidNext } = await client.examine(mailbox);
        let last = lastUid(context.offset, uidValidity);
        if (last === null) {
          if (context.offset !== null)
            context.tell(
              'the mail server numbers the mails of the mailbox anew: those that came while no ingress was connected are not taken',
            );
          last = uidNext - 1;
          await context.take([], `${uidValidity}:${last}`);
        }
        connected();
        let mails = 0;
        while (!signal.aborted) {
          for (const mail of await client.mailsAfter(last)) {
            if (signal.aborted) return;
            const update = await updateOf(client, mail, settings);
            last = mail.uid;
            const offset = `${uidValidity}:${last}`;
            mails += 1;
            await context.take([update], offset);
            if (mails % RECORD_EVERY === 0) await context.take([], offset);
          }
          connected();
          await somethingNew(client, timing, signal);
        }
      } catch (error) {
        if (!signal.aborted) throw error;
      } finally {
        client.close();
      }
    },
  };
}

interface Mailbox extends ImapServer {
  readonly mailbox: string;
}

// The schema of the config has checked these.
function mailboxOf({ chat }: PlatformSettings): Mailbox {
  const { port, security, ...rest } = chat.imap as Omit<Mailbox, 'port'> & { readonly port?: number };
  return { ...rest, security, port: port ?? (security === 'tls' ? 993 : 143) };
}

/** Null: the mailbox is new to us, or the server numbers its mails anew. */
function lastUid(offset: string | null, uidValidity: number): number | null {
  const [, validity, uid] = /^(\d+):(\d+)$/.exec(offset ?? '') ?? [];
  return Number(validity) === uidValidity ? Number(uid) : null;
}

async function updateOf(
  client: ImapClient,
  { uid, size, receivedAtMs }: { readonly uid: number; readonly size: number; readonly receivedAtMs: number },
  settings: ConnectionContext['settings'],
): Promise<ChatUpdate> {
  // A size that the server does not tell is not trusted either.
  const cut = !(size <= LARGEST_MAIL);
  const raw = await client.beginningOf(uid, cut ? BEGINNING : LARGEST_MAIL);
  const other = (why: string): ChatUpdate => ({ kind: 'other', updateId: `mail:uid-${uid}`, why });
  if (raw === null) return other('deleted meanwhile');
  try {
    return readMail(await parseMime(raw, receivedAtMs, { cut }), settings);
  } catch (error) {
    // Otherwise this mail would be fetched again for ever, and all others would wait behind it.
    return other(`cannot be read: ${(error as Error).message.slice(0, 100)}`);
  }
}

async function somethingNew(
  client: ImapClient,
  { idleMs, pollMs }: ImapTiming,
  signal: AbortSignal,
): Promise<void> {
  if (client.hasIdle) return client.idle(idleMs);
  if (client.changed) return;
  await new Promise<void>((resolve) => {
    const timer = setTimeout(end, pollMs);
    function end() {
      clearTimeout(timer);
      signal.removeEventListener('abort', end);
      resolve();
    }
    signal.addEventListener('abort', end, { once: true });
  });
  if (!signal.aborted) await client.noop();
}

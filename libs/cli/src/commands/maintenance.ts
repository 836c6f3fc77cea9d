import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import { isRetryable } from '@angelia/contracts/errors';
import { type Context, defineCommand } from '../command-line/command.ts';
import { CliError, EXIT } from '../exit.ts';
import { configEnvironment } from '../local-stack/config-environment.ts';
import { databaseUrl } from '../local-stack/files.ts';
import { wholeId } from '../names/whole-ids.ts';
import { confirm, yesOption } from '../terminal/confirm.ts';

// These commands work on the database, also while the services are down. Each imports event-log or service-kit only when it
// runs, so that commands of the API start without pg, zod and the rest.

const WHERE = 'It uses DATABASE_URL, or the Postgres of the local stack ($ANGELIA_DATA).';
const MOST_DAYS = 36_500;

export const prune = defineCommand({
  name: 'prune',
  summary: 'delete ended sessions that are older than the retention, now',
  description:
    `The services do this every hour, by \`retention\` of the config (docs/backup.md). With \`retention.export\`, sessions are ` +
    `written to files first. ${WHERE}`,
  options: {
    days: {
      value: 'n',
      summary: 'sessions that ended longer ago than this, instead of `retention.sessions_days`',
    },
    ...yesOption,
  },
  examples: [
    { command: 'angelia prune --yes', does: 'by the retention of the config' },
    { command: 'angelia prune --days 30 --yes', does: 'with a shorter retention' },
  ],
  run: async (context) => {
    const { given, out, runtime } = context;
    const url = databaseUrl(runtime);
    const days = given.number('days', { from: 1, to: MOST_DAYS });
    await confirm(
      context,
      days === null
        ? 'delete sessions that are older than the retention'
        : `delete sessions that ended more than ${days} days ago`,
    );
    const { pruneNow } = await import('@angelia/service-kit/maintenance');
    const pruned = await onDatabase(() =>
      pruneNow({
        url,
        env: configEnvironment(runtime),
        signal: runtime.signal,
        ...(days === null ? {} : { days }),
      }),
    );
    out.answer(pruned, () => `pruned ${pruned.sessions} sessions and ${pruned.keys} keys`);
    return undefined;
  },
});

export const exportSessions = defineCommand({
  name: 'export',
  summary: 'write sessions to files, without deleting them',
  description:
    'The files are compressed JSON lines, one file per day (`sessions-<day>.jsonl.gz`) and one line per event. Existing files ' +
    'are extended. ' +
    `Without ids, it writes all sessions that have ended. \`angelia import\` reads the files back. ${WHERE}`,
  // Not `names`: the server is not needed, and may be down.
  arguments: [
    { name: 'session', optional: true, many: true, summary: 'ids of sessions, or enough of their beginning' },
  ],
  options: {
    to: { value: 'directory', file: true, summary: 'where to write (./exports)' },
    route: { value: 'name', summary: 'without ids: only sessions of this route' },
  },
  examples: [
    { command: 'angelia export --to backup', does: 'all sessions that have ended' },
    { command: 'angelia export 01a1e281-20d9-7563-b8f1-427765d52c50 --to /tmp', does: 'one session' },
  ],
  run: async ({ given, out, runtime }) => {
    const url = databaseUrl(runtime);
    const named = given.argumentsFrom('session');
    const route = given.text('route');
    if (named.length > 0 && route !== null) throw new CliError(EXIT.usage, 'give ids or --route, not both');
    const directory = resolve(runtime.cwd, given.text('to') ?? 'exports');
    const { exportFiles } = await import('@angelia/event-log/admin');
    const sessionIds = await onDatabase(() => wholeIdsIn(url, named));
    const done = await onDatabase(() =>
      exportFiles({
        url,
        directory,
        signal: runtime.signal,
        ...(sessionIds.length === 0 ? {} : { sessionIds }),
        ...(route === null ? {} : { route }),
      }),
    );
    out.answer(
      { directory, ...done },
      () => `wrote ${done.sessions} sessions (${done.events} events) to ${directory}`,
    );
    if (done.missing.length > 0) {
      throw new CliError(EXIT.notFound, `there is no session ${done.missing.join(', ')}`);
    }
    return undefined;
  },
});

/** As the database has them. */
async function wholeIdsIn(url: string, named: readonly string[]): Promise<string[]> {
  const { openEventLog } = await import('@angelia/event-log');
  const log = openEventLog({ url, instance: 'cli', holder: 'cli' });
  const find = async (idPrefix: string, limit: number) =>
    (await log.lists.sessions({ idPrefix, limit })).items.map(({ sessionId }) => sessionId);
  try {
    const ids: string[] = [];
    for (const each of named) ids.push(await wholeId('session', each, find));
    return ids;
  } finally {
    await log.close();
  }
}

export const importSessions = defineCommand({
  name: 'import',
  summary: 'bring exported sessions back into the log',
  description: `Sessions that the log already has stay unchanged. Sessions older than the retention are pruned again: raise it first. ${WHERE}`,
  arguments: [{ name: 'file', many: true, summary: 'files of an export' }],
  examples: [{ command: 'angelia import exports/sessions-2026-11-16.jsonl.gz', does: 'a day of sessions' }],
  run: async ({ given, out, runtime }) => {
    const url = databaseUrl(runtime);
    const files = given.argumentsFrom('file').map((file) => resolve(runtime.cwd, file));
    for (const file of files) {
      if (!existsSync(file)) throw new CliError(EXIT.notFound, `${file} does not exist`);
    }
    const { importFiles } = await import('@angelia/event-log/admin');
    await onDatabase(() =>
      importFiles({
        url,
        files,
        onFile: (file, { sessions, events }) =>
          out.item(
            { file, sessions, events },
            () => `${file}: imported ${sessions} sessions (${events} events)`,
          ),
      }),
    );
    return undefined;
  },
});

export const rebuild = defineCommand({
  name: 'rebuild',
  summary: 'rebuild the views from the whole log',
  description: `It builds new views beside the old ones, then switches. The services may keep running. ${WHERE}`,
  examples: [{ command: 'angelia rebuild', does: 'when lists look wrong' }],
  run: async ({ out, runtime }: Context) => {
    const url = databaseUrl(runtime);
    const { rebuildNow } = await import('@angelia/service-kit/maintenance');
    const done = await onDatabase(() => rebuildNow(url));
    out.answer(done, () => `the views are rebuilt from ${done.events} events (build ${done.build})`);
    return undefined;
  },
});

/** Turns errors of the log and of the config into a CliError. */
async function onDatabase<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw databaseError(error);
  }
}

/** Read by its fields, not its class: the classes are imported late, and Node's own may come from another realm. */
interface Thrown {
  readonly message: string;
  readonly code?: unknown;
  /** Set when a connect tried several addresses. */
  readonly errors?: readonly Thrown[];
}

export function databaseError(error: unknown): unknown {
  if (error instanceof CliError || typeof error !== 'object' || error === null || !('message' in error)) {
    return error;
  }
  const thrown = error as Thrown;
  const { code, message } = thrown.errors?.[0] ?? thrown;
  const told = message.replaceAll('\n', '; ');
  if (code === 'startup_refused') return new CliError(EXIT.config, told);
  if (code === 'unreadable_archive') return new CliError(EXIT.usage, told);
  if (code === '28P01' || code === '28000') return new CliError(EXIT.unauthorised, told);
  if (isRetryable(thrown) || CONNECT_ERRORS.has(String(code))) {
    return new CliError(
      EXIT.unreachable,
      told,
      'is it running? Set DATABASE_URL to the Postgres that holds the log, or ANGELIA_DATA for the local stack',
    );
  }
  return typeof code === 'string' ? new CliError(EXIT.failed, told) : error;
}

const CONNECT_ERRORS = new Set(['ECONNREFUSED', 'ECONNRESET', 'ENOTFOUND', 'ETIMEDOUT', 'EHOSTUNREACH']);

import { type EventLog, openEventLog } from '../event-log.ts';
import { exportTo, importArchive } from './archive.ts';

interface ExportFilesOptions {
  readonly url: string;
  readonly directory: string;
  /** These, whatever their state. Absent: all sessions that have ended. */
  readonly sessionIds?: readonly string[];
  /** Without sessionIds: only those of this route. */
  readonly route?: string;
  /** Also what models thought between tool calls. Default: false. */
  readonly withThoughts?: boolean;
  readonly signal?: AbortSignal;
}

interface Exported {
  readonly sessions: number;
  readonly events: number;
  /** The given ids that are not in the log. */
  readonly missing: readonly string[];
}

/** How many whole sessions are in memory at once: some ten events each. */
const BATCH = 50;

/** Writes sessions to files, as pruning with `retention.export` does, and deletes nothing. */
export function exportFiles(options: ExportFilesOptions): Promise<Exported> {
  return withLog(options.url, 'angelia-export', async (log) => {
    const write = exportTo(options.directory, { withThoughts: options.withThoughts ?? false });
    let sessions = 0;
    let events = 0;
    const missing: string[] = [];
    for await (const ids of batchesOf(log, options)) {
      if (options.signal?.aborted) break;
      const streams = await Promise.all(ids.map((id) => log.streams.read(id)));
      missing.push(...ids.filter((_, index) => streams[index]?.length === 0));
      const found = streams.filter((stream) => stream.length > 0);
      await write(found);
      sessions += found.length;
      events += found.reduce((total, stream) => total + stream.length, 0);
    }
    return { sessions, events, missing };
  });
}

async function* batchesOf(
  log: EventLog,
  { sessionIds, route }: ExportFilesOptions,
): AsyncGenerator<readonly string[]> {
  if (sessionIds !== undefined) {
    for (let at = 0; at < sessionIds.length; at += BATCH) yield sessionIds.slice(at, at + BATCH);
    return;
  }
  for (let cursor: string | null = null; ; ) {
    const page = await log.lists.sessions({
      status: 'ended',
      limit: BATCH,
      ...(route === undefined ? {} : { route }),
      ...(cursor === null ? {} : { cursor }),
    });
    yield page.items.map(({ sessionId }) => sessionId);
    cursor = page.nextCursor;
    if (cursor === null) return;
  }
}

/**
 * Brings exported sessions back, file by file. They are pruned again if they are older than the retention.
 * @throws UnreadableArchive; what comes before that place is imported
 */
export function importFiles(options: {
  readonly url: string;
  readonly files: readonly string[];
  readonly onFile: (file: string, imported: { readonly sessions: number; readonly events: number }) => void;
}): Promise<void> {
  return withLog(options.url, 'angelia-import', async (log) => {
    for (const file of options.files) options.onFile(file, await importArchive(log, file));
  });
}

async function withLog<T>(url: string, instance: string, work: (log: EventLog) => Promise<T>): Promise<T> {
  const log = openEventLog({ url, instance, holder: `${instance}#${process.pid}` });
  try {
    return await work(log);
  } finally {
    await log.close();
  }
}

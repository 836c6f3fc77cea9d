import { importArchive } from '../archive.ts';
import { openEventLog } from '../event-log.ts';
import { runCommand } from './command-line.ts';

/** `import <file> ...`: brings exported sessions back. They are pruned again when they are older than the retention. */
await runCommand('import', async (url) => {
  const log = openEventLog({ url, instance: 'angelia-import', holder: `angelia-import#${process.pid}` });
  try {
    const lines: string[] = [];
    for (const file of process.argv.slice(2)) {
      const { sessions, events } = await importArchive(log, file);
      lines.push(`${file}: imported ${sessions} sessions (${events} events)`);
    }
    return lines.length === 0 ? ['nothing to import: name the files'] : lines;
  } finally {
    await log.close();
  }
});

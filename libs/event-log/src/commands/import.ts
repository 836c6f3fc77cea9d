import { importFiles } from '../admin/archive-files.ts';
import { runCommand } from './command-line.ts';

/** `import <file> ...`. People use `angelia import`, which does the same. */
await runCommand('import', async (url) => {
  const files = process.argv.slice(2);
  const lines: string[] = [];
  await importFiles({
    url,
    files,
    onFile: (file, { sessions, events }) =>
      lines.push(`${file}: imported ${sessions} sessions (${events} events)`),
  });
  return lines.length === 0 ? ['nothing to import: name the files'] : lines;
});

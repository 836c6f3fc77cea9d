import { mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { identityOf, isSameProcess } from '../../bootstrap/process-identity.mjs';
import { readIfThere, writeFileWhole } from '../data-directory/kept-file.ts';
import type { Layout } from '../data-directory/layout.ts';

/**
 * A launcher's running programs, recorded on disk: `run/<name>.pid` for people and tests, and `run/children.json` with the
 * identity beside each pid. So the next launcher can tell the programs of a killed launcher from a process that merely
 * got the same pid.
 */
export interface RunningPrograms {
  add(name: string, pid: number): void;
  remove(name: string): void;
}

interface Entry {
  readonly pid: number;
  readonly identity: string | null;
}

export function openRunningPrograms(layout: Layout): RunningPrograms {
  mkdirSync(layout.run, { recursive: true });
  const change = (edit: (entries: Map<string, Entry>) => void) => {
    const entries = readEntries(layout);
    edit(entries);
    writeFileWhole(recordPath(layout), `${JSON.stringify(Object.fromEntries(entries))}\n`);
  };
  return {
    add(name, pid) {
      writeFileWhole(join(layout.run, `${name}.pid`), `${pid}\n`);
      change((entries) => entries.set(name, { pid, identity: identityOf(pid) }));
    },
    remove(name) {
      rmSync(join(layout.run, `${name}.pid`), { force: true });
      change((entries) => entries.delete(name));
    },
  };
}

/** Programs of an earlier launcher that are still running. */
export function leftRunning(layout: Layout): { name: string; pid: number; identity: string }[] {
  const found = [];
  for (const [name, { pid, identity }] of readEntries(layout)) {
    if (identity !== null && isSameProcess(pid, identity)) found.push({ name, pid, identity });
  }
  return found;
}

const recordPath = (layout: Layout): string => join(layout.run, 'children.json');

function readEntries(layout: Layout): Map<string, Entry> {
  const text = readIfThere(recordPath(layout));
  if (text === null) return new Map();
  const parsed: Record<string, Entry> = JSON.parse(text);
  return new Map(Object.entries(parsed));
}

import { mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { identityOf, isSameProcess } from '../bootstrap/process-identity.mjs';
import { readIfThere, writeWhole } from './kept-file.ts';
import type { Layout } from './layout.ts';

/**
 * The programs that a launcher has running, on disk: `run/<name>.pid` for people and tests, and `run/children.json`
 * with the identity beside each pid, so that the next launcher can tell what a killed one left behind from a
 * process that merely got the same pid.
 */
export interface ChildBook {
  enter(name: string, pid: number): void;
  strike(name: string): void;
}

interface Entry {
  readonly pid: number;
  readonly identity: string | null;
}

export function openChildBook(layout: Layout): ChildBook {
  mkdirSync(layout.run, { recursive: true });
  const change = (edit: (entries: Map<string, Entry>) => void) => {
    const entries = readEntries(layout);
    edit(entries);
    writeWhole(bookPath(layout), `${JSON.stringify(Object.fromEntries(entries))}\n`);
  };
  return {
    enter(name, pid) {
      writeWhole(join(layout.run, `${name}.pid`), `${pid}\n`);
      change((entries) => entries.set(name, { pid, identity: identityOf(pid) }));
    },
    strike(name) {
      rmSync(join(layout.run, `${name}.pid`), { force: true });
      change((entries) => entries.delete(name));
    },
  };
}

/** Programs of an earlier launcher that are still running. */
export function leftBehind(layout: Layout): { name: string; pid: number; identity: string }[] {
  const found = [];
  for (const [name, { pid, identity }] of readEntries(layout)) {
    if (identity !== null && isSameProcess(pid, identity)) found.push({ name, pid, identity });
  }
  return found;
}

const bookPath = (layout: Layout): string => join(layout.run, 'children.json');

function readEntries(layout: Layout): Map<string, Entry> {
  const text = readIfThere(bookPath(layout));
  if (text === null) return new Map();
  const parsed: Record<string, Entry> = JSON.parse(text);
  return new Map(Object.entries(parsed));
}

import { readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { User } from './user-policy.ts';

/** The name of a command's user, and where its account is written down. */
export interface Account {
  readonly name: string;
  /** The host's files with this account added; null if the host knows the user already. */
  readonly files: { readonly passwd: string; readonly group: string } | null;
}

/** Short, because `ssh` logs in elsewhere under it. */
const NAME = 'agent';

/**
 * The user of a session exists in no file of the host (docs/adr/0011), but ordinary tools want a name: without one `ssh`
 * ends with "No user exists for uid" and `git commit` does not know who it is. So each session has its own copies of
 * /etc/passwd and /etc/group with one more line, which commands see in place of the host's where that is possible.
 *
 * @param directory of the session; commands pass through it, and only we write to it
 */
export function accountOf(user: User | null, directory: string, home: string): Account {
  const uid = user?.uid ?? process.getuid?.() ?? 0;
  const gid = user?.gid ?? process.getgid?.() ?? 0;
  const [passwd, group] = [textOf('/etc/passwd'), textOf('/etc/group')];
  const known = entries(passwd).find(([, , number]) => number === String(uid));
  if (known?.[0]) return { name: known[0], files: null };
  const name = entries(passwd).some(([taken]) => taken === NAME) ? `${NAME}-${uid}` : NAME;
  const hasGroup = entries(group).some(([, , number]) => number === String(gid));
  return {
    name,
    files: {
      passwd: written(
        join(directory, 'passwd'),
        withLine(passwd, `${name}:x:${uid}:${gid}:${name}:${home}:/bin/sh`),
      ),
      group: written(join(directory, 'group'), hasGroup ? group : withLine(group, `${name}:x:${gid}:`)),
    },
  };
}

function entries(text: string): string[][] {
  return text.split('\n').map((line) => line.split(':'));
}

function withLine(text: string, line: string): string {
  return `${text}${text === '' || text.endsWith('\n') ? '' : '\n'}${line}\n`;
}

/** Replaced in one step, because another command of the session may be starting with it. */
function written(path: string, text: string): string {
  if (textOf(path) === text) return path;
  const beside = `${path}.${process.pid}`;
  writeFileSync(beside, text, { mode: 0o644 });
  renameSync(beside, path);
  return path;
}

function textOf(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}

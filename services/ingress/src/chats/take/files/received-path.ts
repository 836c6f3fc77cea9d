import { createHash } from 'node:crypto';
import { RECEIVED_DIRECTORY } from '@angelia/contracts';

/** In UTF-8 this and the number before it are less than 255 bytes, which file systems take. */
const LONGEST_NAME = 56;
/** Of what is kept when a long name is cut. */
const LONGEST_ENDING = 12;

/**
 * Where a file of a message is put in the directory of its session. The number makes it unique in a conversation of any
 * length, and is the same for a message that is taken again. The name is its sender's text: what a shell or a file system
 * would take for something else becomes `_`.
 */
export function receivedPath(updateKey: string, index: number, name: string): string {
  const number = createHash('sha256').update(`${updateKey} ${index}`).digest('hex').slice(0, 8);
  const base = name.normalize('NFC').split(/[/\\]/).at(-1) ?? '';
  const safe = base.toWellFormed().replaceAll(/[^\p{L}\p{M}\p{N}._-]+/gu, '_');
  return `${RECEIVED_DIRECTORY}/${number}-${shortened(safe === '' ? 'file' : safe)}`;
}

function shortened(name: string): string {
  const characters = [...name];
  if (characters.length <= LONGEST_NAME) return name;
  const dot = characters.lastIndexOf('.');
  const ending = dot > 0 && characters.length - dot <= LONGEST_ENDING ? characters.slice(dot) : [];
  return [...characters.slice(0, LONGEST_NAME - ending.length), ...ending].join('');
}

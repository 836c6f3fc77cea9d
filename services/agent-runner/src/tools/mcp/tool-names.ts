import { hash } from 'node:crypto';

/** Every provider accepts ^[a-zA-Z0-9_-]{1,64}$ as the name of a tool. */
const LONGEST = 64;
const HASH_LENGTH = 8;

/**
 * `mcp__<server>__<tool>`. A name that providers would refuse is made to fit and gets a part of its hash, so that two
 * similar names stay distinct and each tool has the same name in every run.
 */
export function toolName(server: string, tool: string): string {
  const plain = `mcp__${server}__${tool}`;
  const fitting = plain.replace(/[^a-zA-Z0-9_-]/g, '_');
  if (fitting === plain && plain.length <= LONGEST) return plain;
  const mark = hash('sha256', plain, 'hex').slice(0, HASH_LENGTH);
  return `${fitting.slice(0, LONGEST - HASH_LENGTH - 1)}_${mark}`;
}

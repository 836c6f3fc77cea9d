import { isUtf8 } from 'node:buffer';
import { readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { AngeliaError } from '@angelia/contracts';
import { realPathInside } from './path-inside.ts';

/** About 16,000 tokens: a skill is an instruction, not a library. */
const LARGEST_SKILL_BYTES = 65_536;

/** Thrown if a skill is missing or cannot be used. A retry does not help: somebody has to correct the file. */
export class SkillUnavailable extends AngeliaError {
  override readonly name = 'SkillUnavailable';
  readonly code = 'skill_unavailable';
  readonly retryable = false;
}

/**
 * The text of a skill: `<name>.md`, or `<name>/SKILL.md` as other programs keep skills. The config allows no dots and no
 * separators in the name, and the file must be inside the directory, whatever links there are.
 */
export function readSkill(directory: string, name: string): string {
  const candidates = [`${name}.md`, join(name, 'SKILL.md')].map((file) => realPathInside(directory, file));
  const found = candidates.find((candidate) => 'path' in candidate);
  if (found === undefined) {
    const reasons = candidates.map((candidate) => ('reason' in candidate ? candidate.reason : ''));
    throw new SkillUnavailable(`skill ${name}: ${[...new Set(reasons)].join(', and ')}`);
  }
  return readText(name, found.path);
}

function readText(name: string, path: string): string {
  let bytes: Buffer;
  try {
    const { size } = statSync(path);
    if (size > LARGEST_SKILL_BYTES) {
      throw new SkillUnavailable(
        `skill ${name}: ${path} has ${size} bytes; a skill may have at most ${LARGEST_SKILL_BYTES}`,
      );
    }
    bytes = readFileSync(path);
  } catch (error) {
    if (error instanceof SkillUnavailable) throw error;
    throw new SkillUnavailable(`skill ${name}: ${(error as Error).message}`, { cause: error });
  }
  if (!isUtf8(bytes)) throw new SkillUnavailable(`skill ${name}: ${path} is not UTF-8 text`);
  const text = bytes
    .toString('utf8')
    .replace(/^\uFEFF/, '')
    .trim();
  if (text === '') throw new SkillUnavailable(`skill ${name}: ${path} is empty`);
  return text;
}

import { isUtf8 } from 'node:buffer';
import { readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { realPathInside } from './path-inside.ts';

/** Some 16,000 tokens: a skill is an instruction and not a library. */
const LARGEST_SKILL_BYTES = 65_536;

/** Thrown for a skill that is not there or cannot be used. Trying again does not help; somebody has to mend the file. */
export class SkillUnavailable extends Error {
  override readonly name = 'SkillUnavailable';
  readonly code = 'skill_unavailable';
  readonly retryable = false;
}

/**
 * The text of a skill: `<name>.md`, or `<name>/SKILL.md` as skills are kept elsewhere. Its name has no dots and no
 * separators (config), and the file must lie inside the directory, whatever links there are.
 */
export function readSkill(directory: string, name: string): string {
  const places = [`${name}.md`, join(name, 'SKILL.md')].map((file) => realPathInside(directory, file));
  const found = places.find((place) => 'path' in place);
  if (found === undefined) {
    const reasons = places.map((place) => ('reason' in place ? place.reason : ''));
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
        `skill ${name}: ${path} has ${size} bytes, more than the ${LARGEST_SKILL_BYTES} that a skill may have`,
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

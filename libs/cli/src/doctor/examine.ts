import { examine as examineWith, type Finding, type ExamineOptions as Options } from '@angelia/doctor';
import { readLocalStack } from '../local-stack/local-stack.ts';

export type ExamineOptions = Omit<Options, 'local'>;

/** All checks. Variables that are missing in the environment come from the local stack in ANGELIA_DATA. */
export function examine(options: ExamineOptions): Promise<Finding[]> {
  return examineWith({ ...options, local: readLocalStack(options.env.ANGELIA_DATA || './.angelia') });
}

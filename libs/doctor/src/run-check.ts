import { LATE, within } from '@angelia/waiting';
import { type Finding, fault, reasonOf } from './finding.ts';

/**
 * Runs one check. An exception and a check that takes too long become findings, so that the other checks go on. Each
 * request inside a check has a shorter limit; this limit is for everything else that can hang.
 */
export async function runCheck(
  check: string,
  limitMs: number,
  look: () => Promise<readonly Finding[]>,
): Promise<readonly Finding[]> {
  try {
    const findings = await within(limitMs, look());
    if (findings !== LATE) return findings;
    return [
      fault(check, `no answer within ${limitMs / 1000} s`, 'find out why it hangs, then run doctor again'),
    ];
  } catch (error) {
    return [fault(check, `could not be checked: ${reasonOf(error)}`, 'fix that, then run doctor again')];
  }
}

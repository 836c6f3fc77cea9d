import { type Finding, fault, reasonOf } from './finding.ts';

/**
 * One check for itself: what it throws, and that it takes too long, are findings of their own, and the others go on.
 * Each question inside has a shorter limit; this one is for what nobody thought of.
 */
export async function runCheck(
  check: string,
  limitMs: number,
  look: () => Promise<readonly Finding[]>,
): Promise<readonly Finding[]> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<readonly Finding[]>((resolve) => {
    timer = setTimeout(
      () =>
        resolve([
          fault(check, `no answer within ${limitMs / 1000} s`, 'look why it hangs, then run doctor again'),
        ]),
      limitMs,
    );
  });
  try {
    return await Promise.race([look(), late]);
  } catch (error) {
    return [fault(check, `could not be checked: ${reasonOf(error)}`, 'mend that, then run doctor again')];
  } finally {
    clearTimeout(timer);
  }
}

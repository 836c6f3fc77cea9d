import { parseConfigText, scrubber } from '@angelia/config';
import type { Config } from '@angelia/contracts';
import { type Finding, modelsFindings, targetsFindings } from '@angelia/doctor';

/** As long as doctor waits for a platform. */
const REQUEST_MS = 5_000;
/** Stands for a secret that is not known yet, so that the rest of the config can be checked. */
const NOT_KNOWN = 'not-filled-in-yet';

/**
 * Reads the config as a start would, then asks model and target whether they accept their credentials. It sends no message.
 * What has no credential yet is not asked.
 * @throws StartupError with what is wrong with an answer, such as an id that no platform has
 */
export async function checkComposed(
  text: string,
  path: string,
  values: Readonly<Record<string, string | null>>,
  { model, target }: { readonly model: boolean; readonly target: boolean },
): Promise<Finding[]> {
  const env = Object.fromEntries(Object.entries(values).map(([name, value]) => [name, value ?? NOT_KNOWN]));
  const config: Config = parseConfigText(text, env, path);
  const asked = await Promise.all([
    model ? modelsFindings(config, REQUEST_MS) : [],
    target ? targetsFindings(config, REQUEST_MS) : [],
  ]);
  // A platform may quote the credential that it refuses.
  const clean = scrubber(Object.values(values).filter((value) => value !== null));
  return asked.flat().map((finding) => ({ ...finding, what: clean(finding.what) }));
}

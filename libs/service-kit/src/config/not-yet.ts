import type { ConfigProblem } from '@angelia/contracts';

/**
 * What the config can say and this version cannot do. It is refused at start by name (invariant no-silent-downgrade):
 * never accepted and ignored. This is the only such list: whoever builds one of these deletes its entry.
 */
interface NotYet {
  /** Place in the file; `*` is any name or index. */
  readonly at: string;
  /** Which values are refused; all, when left out. Only what the file says is looked at, never a default. */
  readonly when?: (value: unknown) => boolean;
  readonly what: string;
}

const oneOf =
  (...values: unknown[]) =>
  (value: unknown): boolean =>
    values.includes(value);
const notEmpty = (value: unknown): boolean =>
  typeof value === 'object' && value !== null ? Object.keys(value).length > 0 : value !== null;
const notZero = (value: unknown): boolean => value !== 0;

const LATER = 'not built in this version yet: remove it, or see CHANGELOG.md for a version that has it';

export const notYet: readonly NotYet[] = [
  { at: 'mcp_servers', when: notEmpty, what: 'MCP servers' },
  { at: 'models.*.provider', when: oneOf('openai', 'anthropic'), what: 'this provider' },
  { at: 'agents.*.kind', when: oneOf('command', 'http'), what: 'this kind of agent' },
  { at: 'agents.*.toolsets', when: notEmpty, what: 'tools' },
  { at: 'agents.*.status_interval_seconds', when: notZero, what: 'the "Still working" status' },
  { at: 'routes.*.interim', when: oneOf('edit'), what: 'editing of interim statuses' },
];

/** `raw`: the file as it was written, before defaults. */
export function refusedAsNotYet(raw: unknown): ConfigProblem[] {
  return notYet.flatMap(({ at, when, what }) =>
    valuesAt(raw, at.split('.'), [])
      .filter(({ value }) => value !== undefined && (when === undefined || when(value)))
      .map(({ place, value }) => ({
        place,
        reason: `${what}${typeof value === 'string' ? ` (\`${value}\`)` : ''}: ${LATER}`,
      })),
  );
}

function valuesAt(
  value: unknown,
  path: readonly string[],
  walked: readonly string[],
): { readonly place: string; readonly value: unknown }[] {
  const [step, ...rest] = path;
  if (step === undefined) return [{ place: walked.join('.'), value }];
  if (typeof value !== 'object' || value === null) return [];
  const entries = Object.entries(value);
  return entries
    .filter(([key]) => step === '*' || key === step)
    .flatMap(([key, item]) => valuesAt(item, rest, [...walked, key]));
}

import { compilePattern } from '@angelia/config';
import { filterSchema, validate } from '@angelia/contracts';
import { isSection, type Section } from './untyped-values.ts';

/** In the order in which Hermes looks for them. Hermes uses the first one that it finds and ignores the others. */
const PRECEDENCE = [
  ...['all', 'any', 'not', 'exists', 'missing', 'equals', 'not_equals', 'contains', 'in', 'in_file', 'regex'],
] as const;

export type ImportedFilter =
  | { readonly kind: 'filter'; readonly filter: Section; readonly notes: readonly string[] }
  /** It matches every webhook, so leaving it out means the same. */
  | { readonly kind: 'always' }
  /** It has no meaning here, or it never matched in Hermes. */
  | { readonly kind: 'not'; readonly reason: string };

export function importFilter(spec: unknown, hermesHome: string): ImportedFilter {
  if (!isSection(spec)) return { kind: 'not', reason: 'is not a filter and never matches in Hermes' };
  const given = PRECEDENCE.filter(
    (name) => Object.hasOwn(spec, name) && (name !== 'missing' || spec.missing === true),
  );
  const [operator] = given;
  if (operator === undefined)
    return { kind: 'not', reason: 'has no operator that Hermes knows, so it never matches there' };
  const notes = given
    .slice(1)
    .map((name) => `\`${name}\` beside \`${operator}\` has no effect in Hermes and is left out`);
  if (operator === 'all' || operator === 'any' || operator === 'not')
    return importGroup(operator, spec[operator], hermesHome, notes);
  if (/^event(_type)?\./.test(String(spec.field))) {
    return {
      kind: 'not',
      reason: `field ${spec.field} has no meaning in Hermes, but is a path into the payload here`,
    };
  }
  return checked({ field: spec.field, [operator]: operand(operator, spec[operator], hermesHome) }, notes);
}

function importGroup(
  operator: 'all' | 'any' | 'not',
  given: unknown,
  hermesHome: string,
  notes: string[],
): ImportedFilter {
  if (operator === 'not') {
    const inner = importFilter(given, hermesHome);
    if (inner.kind !== 'filter')
      return {
        kind: 'not',
        reason: `\`not\` of something that ${inner.kind === 'always' ? 'always matches' : inner.reason}`,
      };
    return { kind: 'filter', filter: { not: inner.filter }, notes: [...notes, ...inner.notes] };
  }
  if (!Array.isArray(given))
    return { kind: 'not', reason: `\`${operator}\` is not a list and never matches in Hermes` };
  const inner = given.map((one) => importFilter(one, hermesHome));
  const refused = inner.find((one) => one.kind === 'not');
  if (refused !== undefined) return refused;
  const filters = inner.flatMap((one) => (one.kind === 'filter' ? [one] : []));
  if (operator === 'any' && filters.length === 0 && inner.length === 0)
    return { kind: 'not', reason: 'an empty `any` never matches' };
  if (filters.length === 0 || (operator === 'any' && filters.length < inner.length))
    return { kind: 'always' };
  return {
    kind: 'filter',
    filter: { [operator]: filters.map(({ filter }) => filter) },
    notes: [...notes, ...filters.flatMap((one) => one.notes)],
  };
}

function operand(operator: string, value: unknown, hermesHome: string): unknown {
  if (operator === 'exists') return Boolean(value);
  if (operator === 'in_file' && typeof value === 'string') return hermesPath(value, hermesHome);
  if (operator === 'regex') return String(value);
  return value;
}

function checked(filter: Section, notes: string[]): ImportedFilter {
  const parsed = validate(filterSchema, filter);
  if (!parsed.ok) return { kind: 'not', reason: parsed.problems[0]?.reason ?? 'is not a valid filter' };
  if (typeof filter.regex === 'string') {
    const pattern = compilePattern(filter.regex);
    if (!pattern.ok) return { kind: 'not', reason: `the pattern \`${filter.regex}\`: ${pattern.reason}` };
  }
  return { kind: 'filter', filter, notes };
}

/** Hermes resolves relative paths from its home directory. */
export function hermesPath(path: string, hermesHome: string): string {
  const text = path.trim();
  if (text === '~/.hermes' || text.startsWith('~/.hermes/'))
    return `${hermesHome}${text.slice('~/.hermes'.length)}`;
  return text.startsWith('/') || text.startsWith('~') ? text : `${hermesHome}/${text}`;
}

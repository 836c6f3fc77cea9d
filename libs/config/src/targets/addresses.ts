import { type Config, type ConfigProblem, type ValidateOptions, validate } from '@angelia/contracts';
import { PLACEHOLDER } from '../placeholder.ts';
import { isKnownTarget, type KnownTarget, SEEN_THROUGH, targetSchema } from './schemas.ts';

interface AddressProblem {
  /** Within the address; empty: the address as a whole. */
  readonly key: string;
  readonly reason: string;
}

type ParsedAddress =
  | { readonly ok: true; readonly to: Readonly<Record<string, unknown>> }
  | { readonly ok: false; readonly problems: readonly AddressProblem[] };

/** Addresses hold values of variables, which may be credentials: no problem quotes a value. */
const QUOTE_NOTHING = { quoteFrom: null };

/** Checks a `deliver_extra` whose placeholders are filled in. The target's defaults fill in what it does not say. */
export function parseAddress(
  config: Config,
  name: KnownTarget,
  extra: Readonly<Record<string, unknown>>,
): ParsedAddress {
  return parse(name, withDefaults(config, name, extra));
}

/** Checks a captured address after its variables were filled in. Takes no default from today's config. */
export function parseCapturedAddress(name: string, to: Readonly<Record<string, unknown>>): ParsedAddress {
  return isKnownTarget(name) ? parse(name, to) : { ok: true, to };
}

function parse(name: KnownTarget, address: Readonly<Record<string, unknown>>): ParsedAddress {
  const checked = validate(targetSchema(name).address, address, QUOTE_NOTHING);
  return checked.ok
    ? { ok: true, to: checked.value }
    : { ok: false, problems: checked.problems.map(addressProblem) };
}

/** What is wrong with a `deliver_extra`, as far as that is known before its placeholders are filled in. */
export function templateProblems(
  config: Config,
  name: KnownTarget,
  extra: Readonly<Record<string, unknown>>,
): readonly AddressProblem[] {
  const whole = withDefaults(config, name, extra);
  const ignore: ValidateOptions['ignore'] = (issue) => {
    const seenThrough = issue.code === 'custom' && issue.params?.seenThrough === SEEN_THROUGH.seenThrough;
    return !seenThrough && isTemplate(valueAt(whole, issue.path));
  };
  const checked = validate(targetSchema(name).address, whole, { ...QUOTE_NOTHING, ignore });
  return checked.ok ? [] : checked.problems.map(addressProblem);
}

function addressProblem({ place, reason }: ConfigProblem): AddressProblem {
  return { key: place, reason };
}

function withDefaults(
  config: Config,
  name: KnownTarget,
  extra: Readonly<Record<string, unknown>>,
): Readonly<Record<string, unknown>> {
  const options = config.targets[name] ?? {};
  const { defaults: keys = [] } = targetSchema(name);
  if (keys[0] === undefined || Object.hasOwn(extra, keys[0])) return extra;
  const defaults = keys.filter((key) => options[key] !== undefined).map((key) => [key, options[key]]);
  return { ...Object.fromEntries(defaults), ...extra };
}

function valueAt(value: unknown, path: readonly PropertyKey[]): unknown {
  return path.reduce<unknown>(
    (inner, key) =>
      typeof inner === 'object' && inner !== null ? (inner as Record<PropertyKey, unknown>)[key] : undefined,
    value,
  );
}

function isTemplate(value: unknown): boolean {
  return typeof value === 'string' && PLACEHOLDER.test(value);
}

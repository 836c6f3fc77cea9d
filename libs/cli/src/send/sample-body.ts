import { PLACEHOLDER } from '@angelia/config/placeholder';
/** The parts of a route, as its config is written, that a test webhook must fit. */
export type WrittenRoute = Readonly<Record<string, unknown>>;

/** A path of a placeholder or a filter: `a.b.0.c`. */
const PLACEHOLDERS = new RegExp(PLACEHOLDER, 'g');
/** Placeholders that stand for no part of the payload. */
const NOT_IN_PAYLOAD = /^(__raw__|event_type|headers\..*)$/;
/** What a target checks in an address. */
const PLAUSIBLE: readonly (readonly [name: RegExp, value: unknown])[] = [
  [/^text$/, 'Hello from angelia send'],
  [/(^|_)(number|iid|id|count|amount)$/, 1],
  [/^(full_name|repo|path_with_namespace)$/, 'test/test'],
  [/(^|_)e?mail$/, 'test@example.com'],
  [/(^|_)url$/, 'https://example.com/test'],
];

type Path = readonly string[];

/** Senders whose events have no action apart from the name, and where they put it. */
const WHOLE_EVENT: Readonly<Record<string, Path>> = {
  stripe: ['type'],
  slack: ['event', 'type'],
  pagerduty: ['event', 'event_type'],
  typeform: ['event_type'],
  zendesk: ['type'],
};

/**
 * A body that the route accepts as far as that can be told from its text: each placeholder has a value, and the values are
 * those that the filters ask for. A filter with a pattern, a script or a list in a file may still ignore it.
 *
 * @param event the first of the route's `events`
 */
export function sampleBody(
  route: WrittenRoute,
  scheme: string,
  event: string | null,
): Record<string, unknown> {
  const body: Record<string, unknown> = { text: 'Hello from angelia send' };
  for (const path of placeholdersIn([
    route.prompt,
    route.title,
    route.deliver_extra,
    route.delivery_id,
    route.session_key,
    route.coalesce,
  ])) {
    put(body, path, valueFor(path));
  }
  if (event !== null) putEvent(body, scheme, event);
  for (const filter of asList(route.filters)) satisfy(body, filter);
  return body;
}

/** Where the sender has the event in its body. */
function putEvent(body: Record<string, unknown>, scheme: string, event: string): void {
  const whole = WHOLE_EVENT[scheme];
  if (whole !== undefined) {
    put(body, whole, event);
    return;
  }
  if (scheme === 'telegram') {
    // The only other key of an update names its kind.
    delete body.text;
    put(body, [event, 'text'], 'Hello from angelia send');
    return;
  }
  const [kind = '', ...rest] = event.split('.');
  const action = rest.join('.');
  if (scheme === 'linear') put(body, ['type'], kind);
  if (action === '') return;
  put(body, scheme === 'gitlab' ? ['object_attributes', 'action'] : ['action'], action);
}

function placeholdersIn(value: unknown): Path[] {
  if (typeof value === 'string') {
    return [...value.matchAll(PLACEHOLDERS)]
      .map(([, path = '']) => path)
      .filter((path) => !NOT_IN_PAYLOAD.test(path))
      .map((path) => path.split('.'));
  }
  if (typeof value !== 'object' || value === null) return [];
  return Object.values(value).flatMap(placeholdersIn);
}

function valueFor(path: Path): unknown {
  const name = path.at(-1) ?? '';
  const known = PLAUSIBLE.find(([pattern]) => pattern.test(name));
  return known === undefined ? `test ${name.replaceAll('_', ' ')}` : known[1];
}

function satisfy(body: Record<string, unknown>, filter: unknown): void {
  if (typeof filter !== 'object' || filter === null) return;
  const { field, all, any, equals, contains, in: oneOf, exists } = filter as WrittenRoute;
  for (const each of asList(all)) satisfy(body, each);
  satisfy(body, asList(any)[0]);
  if (typeof field !== 'string' || field === 'event' || field.startsWith('headers.')) return;
  const path = field.split('.');
  const [first] = asList(oneOf);
  if (equals !== undefined) put(body, path, equals);
  else if (first !== undefined) put(body, path, first);
  else if (contains !== undefined) put(body, path, contains);
  else if (exists === true && get(body, path) === undefined) put(body, path, valueFor(path));
}

/** A number in a path is an index of a list. What is in the way, such as a text, is replaced. */
function put(body: Record<string, unknown>, path: Path, value: unknown): void {
  let at = body;
  for (const [index, key] of path.entries()) {
    const last = index === path.length - 1;
    const there = at[key];
    const isObject = typeof there === 'object' && there !== null;
    // A placeholder of the whole object stays as its parts have filled it.
    if (last && isObject && typeof value === 'string' && value.startsWith('test ')) return;
    if (!last && !isObject) at[key] = /^\d+$/.test(path[index + 1] ?? '') ? [] : {};
    if (last) at[key] = value;
    at = at[key] as Record<string, unknown>;
  }
}

function get(body: Record<string, unknown>, path: Path): unknown {
  return path.reduce<unknown>((value, key) => (value as Record<string, unknown> | undefined)?.[key], body);
}

const asList = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);

import { toStorable } from '@angelia/event-log';
import { metrics } from '@angelia/service-kit';
import { fenced, fencedBlock, type MissingPlaceholders, markOf, withoutFences } from '@angelia/session';
import { Refusal } from '../../http/refusal.ts';
import { indentedJson, truncate } from '../payload/indented-json.ts';
import { type Quote, RAW_LIMIT, type TemplateValues } from '../payload/template.ts';
import type { Route } from '../route.ts';
import { keyOf } from './session-key.ts';

export interface Rendered {
  /** For what can only be rendered later: the target of a new session, and the input in the fences of another session. */
  readonly values: TemplateValues;
  /** As the first turn of a new session. */
  readonly input: string;
  /** Of the new session; null if nothing is fenced. */
  readonly fenceSeed: string | null;
  readonly title: string;
  /** For a route with `coalesce` or `session_key`; null if the payload lacks a part of the key. */
  readonly key: string | null;
  /** What the payload lacks; null: nothing. */
  readonly missing: MissingPlaceholders | null;
}

/** A title is one line in a list. */
const LONGEST_TITLE = 200;

/**
 * Step 6: what the agent is told, the title of the session, and the key of the session that the webhook belongs to.
 *
 * The delivery target is not rendered here but where a session is created (`route.deliver`). A webhook that joins a
 * session does not decide where its answers go, so its payload need not contain an address.
 *
 * @throws Refusal 400 for `on_missing: refuse`, if the payload lacks a value of `prompt` or `title`
 * @param fenceSeed random (newFenceSeed), so that no payload can close the fences around its values
 */
export function render(route: Route, values: TemplateValues, fenceSeed: string): Rendered {
  const missing = missingOf(route, values);
  const input = renderInput(route, values, markOf(fenceSeed, 1));
  return {
    values,
    input,
    fenceSeed: route.deliverOnly ? null : fenceSeed,
    title: titleOf(route, values, input),
    key: route.keying === null ? null : keyOf(route.keying, values),
    missing,
  };
}

/** An answer names this many. The template has them all. */
const MOST_NAMED = 5;

function missingOf(route: Route, values: TemplateValues): MissingPlaceholders | null {
  const ofPrompt = route.prompt?.missing(values) ?? [];
  const ofTitle = route.title?.missing(values) ?? [];
  if (ofPrompt.length === 0 && ofTitle.length === 0) return null;
  const placeholders = [...new Set([...ofPrompt, ...ofTitle])];
  if (route.onMissing !== 'refuse') return { placeholders, onMissing: route.onMissing };
  metrics.placeholdersMissing.add({ route: route.name, on_missing: 'refuse' });
  const more = placeholders.length > MOST_NAMED ? ` and ${placeholders.length - MOST_NAMED} more` : '';
  throw new Refusal(
    400,
    'missing_placeholder',
    `the payload has no value for ${placeholders.slice(0, MOST_NAMED).join(', ')}${more}, which this route needs: send it`,
  );
}

/** @param mark of the fences: each turn of each session has its own */
export function renderInput(route: Route, values: TemplateValues, mark: string): string {
  // Fences are for models. A person or a program reads the message of a `deliver_only` route.
  const quote: Quote = route.deliverOnly ? unquoted : fence(mark, route.prompt?.lone ?? false);
  if (route.prompt !== null) return toStorable(route.prompt.render(values, quote));
  // The same text as Hermes writes for a route with an empty prompt.
  const event = quote(values.event ?? 'unknown', 'text');
  const payload = quote(indentedJson(values.payload, RAW_LIMIT), 'block');
  return toStorable(`Webhook event '${event}' on route '${route.name}':\n\n${payload}`);
}

const unquoted: Quote = (value) => value;

/**
 * Which values are fenced, and why: libs/session/src/transcript/untrusted-text.ts.
 * @param alone the prompt is this one value
 */
function fence(mark: string, alone: boolean): Quote {
  return (value, kind) =>
    kind === 'block' ? fencedBlock(value, mark) : fenced(value, mark, alone ? 'alone' : 'sentence');
}

/** The route's template, else the first words of the prompt, else (for a bare payload) route and event. */
function titleOf(route: Route, values: TemplateValues, input: string): string {
  const title =
    route.title === null
      ? route.prompt && titleFromPrompt(input)
      : truncate(toStorable(route.title.render(values)).replace(/\s+/g, ' ').trim(), LONGEST_TITLE);
  return title || (values.event === null ? route.name : `${route.name}: ${values.event}`);
}

/** A line in a list, beside other columns. */
const LONGEST_TITLE_FROM_PROMPT = 80;
/** How much of the prompt is searched. A prompt without a word in this much text has nothing to name it by. */
const SEARCHED_FOR_TITLE = 2_000;

/** The first line of the prompt with words in it, cut at a word; null if that line is JSON. */
function titleFromPrompt(input: string): string | null {
  for (const line of truncate(input, SEARCHED_FOR_TITLE).split('\n')) {
    const words = withoutFences(line).replace(/\s+/g, ' ').trim().replace(/:$/, '');
    if (/^[[{]/.test(words)) return null;
    if (/[\p{L}\p{N}]/u.test(words)) return cutAtWord(words);
  }
  return null;
}

function cutAtWord(text: string): string {
  if (text.length <= LONGEST_TITLE_FROM_PROMPT) return text;
  const end = text.lastIndexOf(' ', LONGEST_TITLE_FROM_PROMPT - 1);
  // Some scripts have no spaces, and a URL is one word: those are cut in the middle.
  const cutsAtWord = end > LONGEST_TITLE_FROM_PROMPT / 2;
  return `${cutsAtWord ? text.slice(0, end) : truncate(text, LONGEST_TITLE_FROM_PROMPT - 1)}…`;
}

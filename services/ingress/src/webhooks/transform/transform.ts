import { findScript } from '@angelia/config';
import { toStorable } from '@angelia/event-log';
import type { Logger } from '@angelia/service-kit';
import { Refusal } from '../../http/refusal.ts';
import { parseExactJson } from '../payload/json-body.ts';
import { runScript } from './run-script.ts';
import { ScriptSlots } from './script-slots.ts';

/** A route's `script`, with everything that is needed to run it. */
export interface Script {
  readonly directory: string;
  readonly name: string;
  /** `retry_on_script_failure`: a failure is answered 503, so the sender keeps the webhook and sends it again. */
  readonly retryOnFailure: boolean;
  readonly timeoutMs: number;
  readonly maxOutputBytes: number;
}

interface ScriptInput {
  readonly route: string;
  readonly payload: unknown;
  readonly event: string | null;
  readonly deliveryId: string;
}

type Transformed =
  | { readonly kind: 'transformed'; readonly payload: unknown }
  | {
      readonly kind: 'ignored';
      readonly reason: 'script';
      readonly why: 'script' | 'script_failed';
      readonly detail: string;
    };

/** Retry-After of every 503 here. */
const RETRY_AFTER_SECONDS = 30;
const SILENT = '[SILENT]';
/** In JSON output: the spelling of Hermes, so that its scripts work here. */
const IGNORE_KEYS = [SILENT, '__hermes_ignore__'] as const;

const slots = new ScriptSlots();

/**
 * Step 5, for routes with a `script`: the operator's own program gets the payload as JSON on stdin. Its output decides
 * what happens to the webhook, by the rules of Hermes:
 *
 *   a JSON object            replaces the payload
 *   other text               is added to the payload as `script_output`
 *   nothing, `[SILENT]`,
 *   {"__hermes_ignore__":true}   the webhook is ignored
 *   anything else (an exit code, a signal, the time limit, too much output, JSON that is not an object, no such file)
 *                            the script failed: the webhook is ignored and that is logged, or it is answered 503
 *                            (`retry_on_script_failure`)
 *
 * The script runs before the delivery id is looked up, so a repeated delivery runs it again.
 *
 * @throws Refusal 503: nothing was taken, the sender should try again
 */
export async function transform(
  script: Script,
  subject: ScriptInput,
  logger: Pick<Logger, 'warn'>,
): Promise<Transformed> {
  const input = inputOf(subject.payload);
  const result = await slots.run(() => runOnce(script, subject, input));
  if (result === null) {
    throw new Refusal(
      503,
      'scripts_busy',
      'too many scripts are running: send it again later',
      RETRY_AFTER_SECONDS,
    );
  }
  if (result.kind !== 'failed') return result;
  logger.warn(
    { route: subject.route, delivery_id: subject.deliveryId, script: script.name, reason: result.reason },
    'route script failed',
  );
  if (!script.retryOnFailure)
    return { ...IGNORED, why: 'script_failed', detail: `${script.name} failed: ${result.reason}` };
  throw new Refusal(
    503,
    'script_failed',
    'the script of this route failed: send it again later',
    RETRY_AFTER_SECONDS,
  );
}

const IGNORED = {
  kind: 'ignored',
  reason: 'script',
  why: 'script',
  detail: 'the script printed nothing, or asked to ignore the webhook',
} as const;

async function runOnce(
  script: Script,
  subject: ScriptInput,
  input: string,
): Promise<Transformed | { readonly kind: 'failed'; readonly reason: string }> {
  // Looked up for each run: the file may have gone or moved since the route was defined.
  const found = findScript(script.directory, script.name);
  if ('reason' in found) return { kind: 'failed', reason: found.reason };
  const end = await runScript({
    path: found.path,
    input,
    // The sender chooses event and delivery id. Characters that a variable cannot hold (NUL) are replaced.
    variables: {
      ANGELIA_ROUTE: subject.route,
      ANGELIA_EVENT_TYPE: toStorable(subject.event ?? ''),
      ANGELIA_DELIVERY_ID: toStorable(subject.deliveryId),
    },
    timeoutMs: script.timeoutMs,
    maxOutputBytes: script.maxOutputBytes,
  });
  return end.kind === 'failed' ? end : outcomeOf(end.output.trim(), subject.payload);
}

function outcomeOf(
  output: string,
  payload: unknown,
): Transformed | { readonly kind: 'failed'; readonly reason: string } {
  if (output === '' || output === SILENT) return IGNORED;
  let printed: unknown;
  try {
    printed = parseExactJson(output);
  } catch (error) {
    if (error instanceof RangeError)
      return { kind: 'failed', reason: 'it printed JSON that is nested too deeply' };
    return { kind: 'transformed', payload: { ...asObject(payload), script_output: output } };
  }
  if (!isObject(printed)) return { kind: 'failed', reason: 'it printed JSON that is not an object' };
  if (IGNORE_KEYS.some((key) => Object.hasOwn(printed, key) && printed[key] === true)) return IGNORED;
  return { kind: 'transformed', payload: printed };
}

/** A list or a scalar has no properties to add to, so it becomes the property `payload`. */
function asObject(payload: unknown): Readonly<Record<string, unknown>> {
  return isObject(payload) ? payload : { payload };
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && !JSON.isRawJSON(value);
}

function inputOf(payload: unknown): string {
  try {
    return JSON.stringify(payload);
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    throw new Refusal(400, 'too_deep', 'the JSON body is nested too deeply: flatten it');
  }
}

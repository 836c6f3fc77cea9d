import { scrubber, secretValuesIn } from '@angelia/config';
import type { Target, TargetSettings } from './target.ts';

/**
 * The target, saying nothing that its credentials are part of. Reasons and receipts hold the platform's own words and are
 * written to events, which are for ever: a platform (or a proxy before it) that repeats what it was sent must not get
 * a token in there. One place for all adapters, so that none can forget it.
 */
export function redactCredentials(target: Target, settings: TargetSettings): Target {
  return redactSecrets(target, credentialsIn(settings));
}

/** The same for secrets that the address brings along. */
export function redactSecrets(target: Target, secrets: readonly string[]): Target {
  const scrub = scrubber(secrets);
  const clean = <R extends object>(result: R): R => {
    const { reason, receipt } = result as { reason?: unknown; receipt?: unknown };
    return {
      ...result,
      ...(typeof reason === 'string' ? { reason: scrub(reason) } : {}),
      ...(typeof receipt === 'string' ? { receipt: scrub(receipt) } : {}),
    };
  };
  const { edit, lookUp } = target;
  return {
    ...target,
    send: async (request) => clean(await target.send(request)),
    ...(edit === undefined
      ? {}
      : { edit: async (request, receipt) => clean(await edit.call(target, request, receipt)) }),
    ...(lookUp === undefined ? {} : { lookUp: async (request) => clean(await lookUp.call(target, request)) }),
  };
}

/** By the names of their keys, and whatever stands in headers that are sent with everything. */
function credentialsIn(settings: TargetSettings): string[] {
  const { headers } = settings;
  const values = typeof headers === 'object' && headers !== null ? Object.values(headers) : [];
  return [...secretValuesIn(settings), ...values.filter((value) => typeof value === 'string')];
}

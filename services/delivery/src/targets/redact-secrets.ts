import { scrubber, secretValuesIn } from '@angelia/config';
import type { Target, TargetSettings } from './target.ts';

/**
 * Wraps the target so that none of its credentials appears in a reason or a receipt. Those hold the platform's own words and
 * are written to events, which stay for ever. A platform, or a proxy before it, may repeat a token that it was sent. The
 * wrapper covers all adapters, so none can forget it.
 */
export function redactCredentials(target: Target, settings: TargetSettings): Target {
  return redactSecrets(target, credentialsIn(settings));
}

/** The same for secrets in the address. */
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

/** Found by the names of their keys. Headers that go with every request count too. */
export function credentialsIn(settings: TargetSettings): string[] {
  const { headers } = settings;
  const values = typeof headers === 'object' && headers !== null ? Object.values(headers) : [];
  return [...secretValuesIn(settings), ...values.filter((value) => typeof value === 'string')];
}

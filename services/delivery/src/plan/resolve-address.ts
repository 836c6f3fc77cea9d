import {
  type AddressVariables,
  parseCapturedAddress,
  secretsInAddress,
  variableReference,
} from '@angelia/config';
import type { DeliveryTarget } from '@angelia/contracts';
import { redactSecrets } from '../targets/redact-secrets.ts';
import type { TargetAddress } from '../targets/target.ts';
import type { ConfiguredTarget } from '../targets/target-registry.ts';

interface ResolvedAddress {
  readonly configured: ConfiguredTarget;
  readonly address: TargetAddress;
}

/**
 * The captured address with its references filled in. Where and how to deliver was decided when the webhook came
 * (config-is-a-fact); the value of a credential is the one of today. A reference that cannot be filled in is a failed attempt
 * with the reason (no-silent-downgrade): an operator can fix it, and the next attempt succeeds.
 */
export function resolveAddress(
  captured: DeliveryTarget,
  configured: ConfiguredTarget,
  variables: AddressVariables,
): ResolvedAddress {
  const trust = {
    untrusted: captured.untrusted_address,
    untrustedHost: captured.untrusted_host ?? false,
  };
  const { references = [] } = captured;
  if (references.length === 0) return { configured, address: { to: captured.to, ...trust } };
  const filled = fillIn(captured.to, references, variables);
  if (!filled.ok) return unresolved(captured, configured, filled.reason);
  const parsed = parseCapturedAddress(captured.target, filled.to);
  if (!parsed.ok) {
    const [problem] = parsed.problems;
    return unresolved(captured, configured, `deliver_extra.${problem?.key}: ${problem?.reason}`);
  }
  const secrets = filled.values.flatMap(secretsInAddress);
  return {
    configured: { ...configured, target: redactSecrets(configured.target, secrets) },
    address: { to: parsed.to, ...trust },
  };
}

type References = NonNullable<DeliveryTarget['references']>;
type Filled =
  | { readonly ok: true; readonly to: Readonly<Record<string, unknown>>; readonly values: readonly string[] }
  | { readonly ok: false; readonly reason: string };

function fillIn(to: DeliveryTarget['to'], references: References, variables: AddressVariables): Filled {
  const filled = structuredClone(to);
  const values: string[] = [];
  // From the end of each text to its beginning: positions further ahead stay valid.
  for (const { path, at, name } of [...references].sort((a, b) => b.at - a.at)) {
    const where = `deliver_extra.${path.join('.')}`;
    const found = variables(name);
    if ('reason' in found) return { ok: false, reason: `${where}: ${found.reason}` };
    const holder = holderOf(filled, path);
    const key = path.at(-1) ?? '';
    const text = holder?.[key];
    const mark = variableReference({ name });
    if (holder === null || typeof text !== 'string' || !text.startsWith(mark, at)) {
      return { ok: false, reason: `${where}: ${mark} is not where the event says that it is` };
    }
    holder[key] = `${text.slice(0, at)}${found.value}${text.slice(at + mark.length)}`;
    values.push(found.value);
  }
  return { ok: true, to: filled, values };
}

/** The object that has the last key of the path; null: there is none. */
function holderOf(to: Record<string, unknown>, path: readonly string[]): Record<string, unknown> | null {
  let holder: unknown = to;
  for (const key of path.slice(0, -1)) holder = own(holder, key);
  const last = path.at(-1);
  return last !== undefined && own(holder, last) !== undefined ? (holder as Record<string, unknown>) : null;
}

function own(value: unknown, key: string): unknown {
  return typeof value === 'object' && value !== null && Object.hasOwn(value, key)
    ? (value as Record<string, unknown>)[key]
    : undefined;
}

/** A target that composes as usual, because some chunks may have been taken, but sends nothing and opens no platform's circuit. */
function unresolved(captured: DeliveryTarget, configured: ConfiguredTarget, reason: string): ResolvedAddress {
  const { edit: _edit, lookUp: _lookUp, limits: _limits, ...target } = configured.target;
  const names = (captured.references ?? []).map(({ name }) => name).join(' ');
  return {
    configured: {
      ...configured,
      target: {
        ...target,
        destination: () => ({ name: `${target.name}, without ${names}`, chat: null }),
        send: async () => ({ kind: 'retryable', reason: `not sent: ${reason}` }),
      },
    },
    address: { to: captured.to, untrusted: true, untrustedHost: true },
  };
}

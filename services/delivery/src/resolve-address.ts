import {
  type AddressVariables,
  parseCapturedAddress,
  secretsInAddress,
  variableReference,
} from '@angelia/config';
import type { DeliveryTarget } from '@angelia/contracts';
import type { ReadyTarget } from './targets/registry.ts';
import type { TargetAddress } from './targets/target.ts';
import { withoutSecrets } from './targets/without-credentials.ts';

/** Who sends, and where to. */
export interface Destination {
  readonly ready: ReadyTarget;
  readonly address: TargetAddress;
}

/**
 * The captured address with what its references stand for now: where and how was decided when the webhook came
 * (config-is-a-fact), the value of a credential is whatever it is today. What cannot be filled in is a failed attempt
 * with the reason (no-silent-downgrade): an operator can mend it, and the next one finds it mended.
 */
export function resolveAddress(
  captured: DeliveryTarget,
  ready: ReadyTarget,
  variables: AddressVariables,
): Destination {
  const trust = {
    untrusted: captured.untrusted_address,
    untrustedHost: captured.untrusted_host ?? false,
  };
  const { references = [] } = captured;
  if (references.length === 0) return { ready, address: { to: captured.to, ...trust } };
  const filled = fillIn(captured.to, references, variables);
  if (!filled.ok) return unresolved(captured, ready, filled.reason);
  const parsed = parseCapturedAddress(captured.target, filled.to);
  if (!parsed.ok) {
    const [problem] = parsed.problems;
    return unresolved(captured, ready, `deliver_extra.${problem?.key}: ${problem?.reason}`);
  }
  const secrets = filled.values.flatMap(secretsInAddress);
  return {
    ready: { ...ready, target: withoutSecrets(ready.target, secrets) },
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
  // From the end of each text to its beginning: the places before it stay where they are.
  for (const { path, at, name } of [...references].sort((a, b) => b.at - a.at)) {
    const place = `deliver_extra.${path.join('.')}`;
    const found = variables(name);
    if ('reason' in found) return { ok: false, reason: `${place}: ${found.reason}` };
    const holder = holderOf(filled, path);
    const key = path.at(-1) ?? '';
    const text = holder?.[key];
    const mark = variableReference({ name });
    if (holder === null || typeof text !== 'string' || !text.startsWith(mark, at)) {
      return { ok: false, reason: `${place}: ${mark} is not where the event says that it is` };
    }
    holder[key] = `${text.slice(0, at)}${found.value}${text.slice(at + mark.length)}`;
    values.push(found.value);
  }
  return { ok: true, to: filled, values };
}

/** What has the last key of the path; null: there is no such place. */
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

/** Cut into pieces as ever, as some may have been taken; nothing is sent, and no platform is said to be down. */
function unresolved(captured: DeliveryTarget, ready: ReadyTarget, reason: string): Destination {
  const { edit: _edit, lookUp: _lookUp, limits: _limits, ...target } = ready.target;
  const names = (captured.references ?? []).map(({ name }) => name).join(' ');
  return {
    ready: {
      ...ready,
      target: {
        ...target,
        place: () => ({ destination: `${target.name}, without ${names}`, chat: null }),
        send: async () => ({ kind: 'retryable', reason: `not sent: ${reason}` }),
      },
    },
    address: { to: captured.to, untrusted: true, untrustedHost: true },
  };
}

import { isSecretKey } from '@angelia/contracts';
import { VariableText } from '../load/variable-text.ts';
import { REDACTED, scrubber, secretValuesIn } from './redaction.ts';

/** A part of the config as everybody may see it. Headers of a delivery may contain a token from the environment. */
export function withoutSecrets(value: unknown): unknown {
  return shown(value, () => false);
}

/** Where the operator puts credentials under names of their own choice. */
const MAPS_OF_VALUES = ['env', 'headers'];

/** The whole config. Of environments and headers it shows the names only, because any of them may be a credential. */
export function shownConfig(config: unknown): unknown {
  const masked = shown(config, (key) => MAPS_OF_VALUES.includes(key));
  // A secret that also stands elsewhere, as in a prompt.
  const clean = scrubber(secretValuesIn(config));
  return JSON.parse(JSON.stringify(masked), (_, value) => (typeof value === 'string' ? clean(value) : value));
}

function shown(value: unknown, hidesValues: (key: string) => boolean): unknown {
  if (value instanceof VariableText) return value.toString();
  if (Array.isArray(value)) return value.map((item) => shown(item, hidesValues));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, item]) => {
      if (isSecretKey(key)) return [key, redacted(item) ?? shown(item, hidesValues)];
      return [key, hidesValues(key) ? withoutValues(item) : shown(item, hidesValues)];
    }),
  );
}

/** Undefined: it holds no text, so it is no secret (`retention: { tokens: 7 }`). */
function redacted(value: unknown): unknown {
  if (typeof value === 'string') return REDACTED;
  return Array.isArray(value) ? value.map((item) => redacted(item) ?? item) : undefined;
}

function withoutValues(value: unknown): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value;
  return Object.fromEntries(Object.keys(value).map((key) => [key, REDACTED]));
}

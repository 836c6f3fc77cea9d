import type { DeliveryTarget } from '@angelia/contracts';
import { storable } from '@angelia/event-log';
import { compileTemplate, type TemplateValues } from './template.ts';

/**
 * Which keys of a target's `deliver_extra` name a network address. One that a template makes must not be private
 * (no request of a stranger may steer ours into the internal network); one that the operator wrote is trusted.
 */
const ADDRESS_KEYS: Readonly<Record<string, readonly string[]>> = { http: ['url'] };

export type RenderTarget = (values: TemplateValues) => DeliveryTarget;

/** Compiled once per route. Where no value has a placeholder, every session shares one object. */
export function compileTarget(
  target: string,
  extra: Readonly<Record<string, unknown>>,
  /** The route was made by API: then even a fixed address is nobody's word but a caller's. */
  untrusted = false,
): RenderTarget {
  const to = compileValue(extra);
  const untrustedAddress =
    untrusted || (ADDRESS_KEYS[target] ?? []).some((key) => compileValue(extra[key]).dynamic);
  const render = (values: TemplateValues): DeliveryTarget => ({
    target,
    to: to.render(values) as Record<string, unknown>,
    untrusted_address: untrustedAddress,
  });
  if (to.dynamic) return render;
  const fixed = render({ payload: null, event: null });
  return () => fixed;
}

interface CompiledValue {
  readonly dynamic: boolean;
  render(values: TemplateValues): unknown;
}

/** Strings are templates, at any depth (`headers` of an http target); keys and other values stand as they are. */
function compileValue(value: unknown): CompiledValue {
  if (typeof value === 'string') {
    const template = compileTemplate(value);
    return template.dynamic
      ? { dynamic: true, render: (values) => storable(template.render(values)) }
      : fixedValue(value);
  }
  if (Array.isArray(value)) {
    const items = value.map(compileValue);
    if (!items.some((item) => item.dynamic)) return fixedValue(value);
    return { dynamic: true, render: (values) => items.map((item) => item.render(values)) };
  }
  if (typeof value === 'object' && value !== null) {
    const entries = Object.entries(value).map(([key, item]) => [key, compileValue(item)] as const);
    if (!entries.some(([, item]) => item.dynamic)) return fixedValue(value);
    return {
      dynamic: true,
      render: (values) => Object.fromEntries(entries.map(([key, item]) => [key, item.render(values)])),
    };
  }
  return fixedValue(value);
}

function fixedValue(value: unknown): CompiledValue {
  return { dynamic: false, render: () => value };
}

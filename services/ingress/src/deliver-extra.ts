import type { Config, DeliveryTarget } from '@angelia/contracts';
import { storable } from '@angelia/event-log';
import { hasFixedHost, isKnownTarget, parseAddress, targetSchema } from '@angelia/service-kit';
import { Refusal } from './refusal.ts';
import { compileTemplate, type TemplateValues } from './template.ts';

/**
 * Where the answer goes, as it is written to `session.created`.
 * @throws Refusal 400: the payload does not make an address of it. A delivery could only fail, hours later; the sender
 *   hears of it now
 */
export type RenderTarget = (values: TemplateValues) => DeliveryTarget;

/** Compiled once per route. Where no value has a placeholder, every session shares one object. */
export function compileTarget(
  config: Config,
  target: string,
  extra: Readonly<Record<string, unknown>>,
  /** The route was made by API: then even a fixed address is nobody's word but a caller's. */
  untrusted = false,
): RenderTarget {
  const to = compileValue(extra, 'deliver_extra');
  // One that a template makes must not be private (no request of a stranger may steer ours into the internal
  // network); one that the operator wrote is trusted.
  const hosts = isKnownTarget(target) ? (targetSchema(target).hosts ?? []) : [];
  const untrustedAddress = untrusted || hosts.some((key) => compileValue(extra[key], key).dynamic);
  // `https://hooks.example.com/{path}` is the operator's word for the host; `{url}` is nobody's.
  const untrustedHost = untrusted || hosts.some((key) => !hasFixedHost(String(extra[key])));
  const render = (values: TemplateValues): DeliveryTarget => ({
    target,
    to: addressOf(config, target, to.render(values) as Record<string, unknown>),
    untrusted_address: untrustedAddress,
    ...(untrustedHost ? { untrusted_host: true } : {}),
  });
  if (to.dynamic) return render;
  let fixed: DeliveryTarget | null = null;
  return () => {
    fixed ??= render({ payload: null, event: null });
    return fixed;
  };
}

function addressOf(
  config: Config,
  target: string,
  rendered: Readonly<Record<string, unknown>>,
): Record<string, unknown> {
  // The config was checked: a route's target is one of this version.
  if (!isKnownTarget(target)) return rendered;
  const parsed = parseAddress(config, target, rendered);
  if (parsed.ok) return parsed.to;
  const [problem] = parsed.problems;
  throw badAddress(
    ['deliver_extra', problem?.key].filter(Boolean).join('.'),
    problem?.reason ?? 'is no address',
  );
}

function badAddress(place: string, reason: string): Refusal {
  return new Refusal(400, 'bad_address', `${place} of this route, filled in from the payload: ${reason}`);
}

interface CompiledValue {
  readonly dynamic: boolean;
  render(values: TemplateValues): unknown;
}

/** Strings are templates, at any depth (`headers` of an http target); keys and other values stand as they are. */
function compileValue(value: unknown, place: string): CompiledValue {
  if (typeof value === 'string') {
    const template = compileTemplate(value);
    return template.dynamic
      ? { dynamic: true, render: (values) => storable(whole(template.renderWhole(values), place, value)) }
      : fixedValue(value);
  }
  if (Array.isArray(value)) {
    const items = value.map((item, index) => compileValue(item, `${place}.${index}`));
    if (!items.some((item) => item.dynamic)) return fixedValue(value);
    return { dynamic: true, render: (values) => items.map((item) => item.render(values)) };
  }
  if (typeof value === 'object' && value !== null) {
    const entries = Object.entries(value).map(
      ([key, item]) => [key, compileValue(item, `${place}.${key}`)] as const,
    );
    if (!entries.some(([, item]) => item.dynamic)) return fixedValue(value);
    return {
      dynamic: true,
      render: (values) => Object.fromEntries(entries.map(([key, item]) => [key, item.render(values)])),
    };
  }
  return fixedValue(value);
}

/** A prompt with a hole says so to its reader; an address with one leads nowhere, or to the wrong place. */
function whole(rendered: string | null, place: string, template: string): string {
  if (rendered !== null) return rendered;
  throw badAddress(place, `the payload lacks a part of \`${template}\``);
}

function fixedValue(value: unknown): CompiledValue {
  return { dynamic: false, render: () => value };
}

import {
  hasFixedHost,
  isKnownTarget,
  parseAddress,
  targetSchema,
  VariableText,
  variableReference,
} from '@angelia/config';
import type { Config, DeliveryTarget } from '@angelia/contracts';
import { storable } from '@angelia/event-log';
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
  // `https://hooks.example.com/{path}` is the operator's word for the host, and so is `https://${HOST}/{path}`; `{url}` is
  // nobody's.
  const untrustedHost = untrusted || hosts.some((key) => !hasFixedHost(String(asResolved(extra[key]))));
  const render = (values: TemplateValues): DeliveryTarget => {
    const references: CapturedReference[] = [];
    const rendered = to.render(values) as Record<string, unknown>;
    return {
      target,
      to: addressOf(config, target, rendered, references),
      untrusted_address: untrustedAddress,
      ...(untrustedHost ? { untrusted_host: true } : {}),
      ...(references.length === 0 ? {} : { references }),
    };
  };
  if (to.dynamic) return render;
  let fixed: DeliveryTarget | null = null;
  return () => {
    fixed ??= render({ payload: null, event: null });
    return fixed;
  };
}

type CapturedReference = NonNullable<DeliveryTarget['references']>[number];

/** A text whose placeholders are filled in, and whose references are not. */
class FilledText {
  constructor(
    readonly text: string,
    readonly references: readonly { readonly at: number; readonly name: string }[],
    /** For the check of the address alone. */
    readonly resolved: string,
  ) {}
}

/**
 * Checked as it will be sent, and kept as it was written: a value with references goes into the event with their names.
 * The same check is made when it is sent, with what the variables say then.
 */
function addressOf(
  config: Config,
  target: string,
  rendered: Readonly<Record<string, unknown>>,
  references: CapturedReference[],
): Record<string, unknown> {
  const to = parsed(config, target, asResolved(rendered) as Record<string, unknown>);
  for (const [key, value] of Object.entries(rendered)) {
    const known = references.length;
    const kept = asKept(value, [key], references);
    if (references.length > known) to[key] = kept;
  }
  return to;
}

function parsed(
  config: Config,
  target: string,
  rendered: Readonly<Record<string, unknown>>,
): Record<string, unknown> {
  // The config was checked: a route's target is one of this version.
  if (!isKnownTarget(target)) return { ...rendered };
  const address = parseAddress(config, target, rendered);
  if (address.ok) return { ...address.to };
  const [problem] = address.problems;
  throw badAddress(
    ['deliver_extra', problem?.key].filter(Boolean).join('.'),
    problem?.reason ?? 'is no address',
  );
}

function asResolved(value: unknown): unknown {
  if (value instanceof FilledText) return value.resolved;
  if (value instanceof VariableText) return value.resolved();
  if (Array.isArray(value)) return value.map((item) => asResolved(item));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, asResolved(item)]));
}

function asKept(value: unknown, path: readonly string[], references: CapturedReference[]): unknown {
  if (value instanceof FilledText) {
    references.push(...value.references.map((reference) => ({ path: [...path], ...reference })));
    return value.text;
  }
  if (Array.isArray(value))
    return value.map((item, index) => asKept(item, [...path, String(index)], references));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, item]) => [key, asKept(item, [...path, key], references)]),
  );
}

function badAddress(place: string, reason: string): Refusal {
  return new Refusal(400, 'bad_address', `${place} of this route, filled in from the payload: ${reason}`);
}

interface CompiledValue {
  /** The payload has a say in it. */
  readonly dynamic: boolean;
  /** It stands as it is written: neither the payload nor a variable has a say in it. */
  readonly plain: boolean;
  render(values: TemplateValues): unknown;
}

/** Strings are templates, at any depth (`headers` of an http target); keys and other values stand as they are. */
function compileValue(value: unknown, place: string): CompiledValue {
  if (value instanceof VariableText) return compileReferenced(value, place);
  if (typeof value === 'string') {
    const template = compileTemplate(value);
    return template.dynamic
      ? {
          dynamic: true,
          plain: false,
          render: (values) => storable(whole(template.renderWhole(values), place, value)),
        }
      : fixedValue(value);
  }
  if (Array.isArray(value)) {
    const items = value.map((item, index) => compileValue(item, `${place}.${index}`));
    if (items.every((item) => item.plain)) return fixedValue(value);
    return {
      dynamic: items.some((item) => item.dynamic),
      plain: false,
      render: (values) => items.map((item) => item.render(values)),
    };
  }
  if (typeof value === 'object' && value !== null) {
    const entries = Object.entries(value).map(
      ([key, item]) => [key, compileValue(item, `${place}.${key}`)] as const,
    );
    if (entries.every(([, item]) => item.plain)) return fixedValue(value);
    return {
      dynamic: entries.some(([, item]) => item.dynamic),
      plain: false,
      render: (values) => Object.fromEntries(entries.map(([key, item]) => [key, item.render(values)])),
    };
  }
  return fixedValue(value);
}

/** Placeholders are found in what the config says, and never in what a variable does. */
function compileReferenced(value: VariableText, place: string): CompiledValue {
  const parts = value.parts.map((part) => (typeof part === 'string' ? compileTemplate(part) : part));
  return {
    dynamic: parts.some((part) => 'dynamic' in part && part.dynamic),
    plain: false,
    render: (values) => {
      let text = '';
      let resolved = '';
      const references: { at: number; name: string }[] = [];
      for (const part of parts) {
        if ('name' in part) {
          references.push({ at: text.length, name: part.name });
          text += variableReference(part);
          resolved += value.value(part);
        } else {
          // Of the same length, so that the places stay right.
          const filled = storable(whole(part.renderWhole(values), place, String(value)));
          text += filled;
          resolved += filled;
        }
      }
      return new FilledText(text, references, resolved);
    },
  };
}

/** A prompt with a hole says so to its reader; an address with one leads nowhere, or to the wrong place. */
function whole(rendered: string | null, place: string, template: string): string {
  if (rendered !== null) return rendered;
  throw badAddress(place, `the payload lacks a part of \`${template}\``);
}

function fixedValue(value: unknown): CompiledValue {
  return { dynamic: false, plain: true, render: () => value };
}

import {
  hasFixedHost,
  isKnownTarget,
  parseAddress,
  targetSchema,
  VariableText,
  variableReference,
} from '@angelia/config';
import type { Config, DeliveryTarget } from '@angelia/contracts';
import { toStorable } from '@angelia/event-log';
import { Refusal } from '../../http/refusal.ts';
import { compileTemplate, type TemplateValues } from '../payload/template.ts';

/**
 * Where the answer goes, as stored in `session.created`.
 * @throws Refusal 400 if the payload does not give a valid address. The delivery could only fail, perhaps hours later;
 *   this way the sender learns it now
 */
export type RenderTarget = (values: TemplateValues) => DeliveryTarget;

/** Compiled once per route. If no value has a placeholder, all sessions share one object. */
export function compileTarget(
  config: Config,
  target: string,
  extra: Readonly<Record<string, unknown>>,
  /** The route was made by API: then the operator did not write even a fixed address. */
  untrusted = false,
): RenderTarget {
  const to = compileValue(extra, 'deliver_extra');
  // An address from a template must not be private, so that no sender can direct our requests into the internal
  // network. An address that the operator wrote is trusted.
  const hosts = isKnownTarget(target) ? (targetSchema(target).hosts ?? []) : [];
  const untrustedAddress = untrusted || hosts.some((key) => compileValue(extra[key], key).dynamic);
  // The operator chose the host in `https://hooks.example.com/{path}` and in `https://${HOST}/{path}`, but not in `{url}`.
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

/** A text with filled-in placeholders, whose references to variables are still open. */
class FilledText {
  constructor(
    readonly text: string,
    readonly references: readonly { readonly at: number; readonly name: string }[],
    /** Only for the check of the address. */
    readonly resolved: string,
  ) {}
}

/**
 * Checks the address with the variables filled in, but stores it as written: the event holds the names of its references.
 * The delivery makes the same check with the values that the variables have then.
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
  // Does not happen: the config was checked, so this version knows the target of every route.
  if (!isKnownTarget(target)) return { ...rendered };
  const address = parseAddress(config, target, rendered);
  if (address.ok) return { ...address.to };
  const [problem] = address.problems;
  throw badAddress(
    ['deliver_extra', problem?.key].filter(Boolean).join('.'),
    problem?.reason ?? 'is not an address',
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
  /** It contains a value of the payload. */
  readonly dynamic: boolean;
  /** It contains neither a value of the payload nor a variable. */
  readonly plain: boolean;
  render(values: TemplateValues): unknown;
}

/** Strings are templates at any depth (`headers` of an http target). Keys and other values stay unchanged. */
function compileValue(value: unknown, place: string): CompiledValue {
  if (value instanceof VariableText) return compileReferenced(value, place);
  if (typeof value === 'string') {
    const template = compileTemplate(value);
    return template.dynamic
      ? {
          dynamic: true,
          plain: false,
          render: (values) => toStorable(whole(template.renderWhole(values), place, value)),
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

/** Looks for placeholders in the text of the config, never in the value of a variable. */
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
          // The same text in both, so that `at` of the references stays right.
          const filled = toStorable(whole(part.renderWhole(values), place, String(value)));
          text += filled;
          resolved += filled;
        }
      }
      return new FilledText(text, references, resolved);
    },
  };
}

/** A reader sees a hole in a prompt. An address with a hole leads nowhere, or to the wrong place. */
function whole(rendered: string | null, place: string, template: string): string {
  if (rendered !== null) return rendered;
  throw badAddress(place, `the payload lacks a part of \`${template}\``);
}

function fixedValue(value: unknown): CompiledValue {
  return { dynamic: false, plain: true, render: () => value };
}

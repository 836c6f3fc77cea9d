import type { Config } from '@angelia/contracts';
import { z } from 'zod';
import { httpUrlProblem } from './target-url.ts';

/**
 * What a route says about its target is written to each of its sessions' events (config-is-a-fact), and those are for
 * ever: a credential has no place there.
 */
const CREDENTIAL = /authorization|cookie|token|secret|password|api-?key|access-?key|credential/i;
const CREDENTIAL_ADVICE =
  'this header looks like a credential, and would be written into the event log: put it under `targets.http.headers`';

function refuseCredentials(headers: Readonly<Record<string, string>>, context: z.RefinementCtx): void {
  for (const header of Object.keys(headers)) {
    if (CREDENTIAL.test(header))
      context.addIssue({ code: 'custom', path: [header], message: CREDENTIAL_ADVICE });
  }
}

function refuseBadUrl(url: string, context: z.RefinementCtx): void {
  // One that is empty has its own problem already.
  const problem = url === '' ? null : httpUrlProblem(url);
  if (problem !== null) context.addIssue({ code: 'custom', message: problem });
}

/**
 * The targets that this version can deliver to: for each what may stand under `targets.<name>` (credentials and
 * defaults) and in a route's `deliver_extra` (where; values may be templates). A new target is added here and as
 * an adapter in services/delivery.
 */
const targetSchemas = {
  log: { options: z.strictObject({}), extra: z.strictObject({}) },
  http: {
    options: z.strictObject({
      /** Signs what is sent (Standard Webhooks). */
      secret: z.string().min(1).optional(),
      /** Whether addresses from payloads, templates and API routes may be private. */
      allow_private_networks: z.boolean().default(false),
      /** Sent with everything; for credentials, as those of a route's `deliver_extra` are written to the session's events. */
      headers: z.record(z.string(), z.string()).optional(),
    }),
    extra: z.strictObject({
      url: z.string().min(1).superRefine(refuseBadUrl),
      headers: z.record(z.string(), z.string()).superRefine(refuseCredentials).optional(),
    }),
  },
} as const;

export type KnownTarget = keyof typeof targetSchemas;
export type TargetOptions<T extends KnownTarget> = z.infer<(typeof targetSchemas)[T]['options']>;

export const knownTargets = Object.keys(targetSchemas) as KnownTarget[];

export function isKnownTarget(name: string): name is KnownTarget {
  return Object.hasOwn(targetSchemas, name);
}

export function targetSchema(name: KnownTarget): { readonly options: z.ZodType; readonly extra: z.ZodType } {
  return targetSchemas[name];
}

/** A target's part of the config, with its defaults; a target that is not listed there has all of its defaults. */
export function targetOptions<T extends KnownTarget>(config: Config, name: T): TargetOptions<T> {
  return targetSchemas[name].options.parse(config.targets[name] ?? {}) as TargetOptions<T>;
}

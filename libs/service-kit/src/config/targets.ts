import type { Config } from '@angelia/contracts';
import { z } from 'zod';

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
    extra: z.strictObject({ url: z.string().min(1), headers: z.record(z.string(), z.string()).optional() }),
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

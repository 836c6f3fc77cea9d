import type { RouteConfig } from '@angelia/contracts';
import type { RateLimit } from '@angelia/event-log';
import type { CreateSession } from '@angelia/session';
import type { Refusal } from '../http/refusal.ts';
import type { Scheme, Secret } from './authenticate/scheme.ts';
import type { Filter } from './filter/compile-filters.ts';
import type { Template } from './payload/template.ts';
import type { RenderTarget } from './render/delivery-target.ts';
import type { Keying } from './render/session-key.ts';
import type { Script } from './transform/transform.ts';

/** A route of the config. Everything that does not depend on the request is computed already (compile-route.ts). */
export interface Route {
  readonly name: string;
  readonly madeByApi: boolean;
  readonly enabled: boolean;
  readonly access: Access;
  /** Where senders reach us, without the path of the route; null if the config does not say. */
  readonly publicUrl: string | null;
  /** Made by eventNames; empty: all events. */
  readonly events: ReadonlySet<string>;
  /** null: every webhook passes. */
  readonly filter: Filter | null;
  readonly script: Script | null;
  /** null: the whole payload, with the introduction that Hermes writes. */
  readonly prompt: Template | null;
  readonly title: Template | null;
  /** If the payload lacks a value of `prompt` or `title`. The templates are compiled for it. */
  readonly onMissing: RouteConfig['on_missing'];
  readonly deliver: RenderTarget;
  readonly fallbackTarget: RenderTarget | null;
  readonly deliveryId: Template | null;
  /** How long a delivery is recognised, in whole seconds: by an id from the sender, and by its content alone. */
  readonly keepSeconds: { readonly sender: number; readonly content: number };
  readonly agent: string;
  readonly toolsets: readonly string[] | null;
  /** What its tools may do without asking. Null: whatever is granted. */
  readonly tools: NonNullable<CreateSession['tools']> | null;
  readonly skills: readonly string[];
  /** The rendered prompt is delivered as it is; no agent works on it. */
  readonly deliverOnly: boolean;
  readonly interim: RouteConfig['interim'];
  readonly maxQueueSeconds: number | null;
  /** How many runs of this route all runners together may run at once. */
  readonly maxConcurrency: number | null;
  /** null: every webhook gets its own session. */
  readonly keying: Keying | null;
  /** Limits how many sessions the route creates; undefined: no limit. */
  readonly rateLimit: RateLimit | undefined;
}

export type Access =
  | { readonly kind: 'open' }
  | {
      readonly kind: 'secret';
      readonly secrets: readonly Secret[];
      /** Named by the route's `auth`; undefined: the headers of the request decide. */
      readonly scheme: Scheme | undefined;
    };

export interface RouteTable {
  get(name: string): Route | undefined;
  /** Why `get` returns nothing, if the reason is not simply that there is no such route. */
  whyMissing?(name: string): Refusal | null;
}

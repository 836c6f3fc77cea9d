import { hash } from 'node:crypto';
import type { RouteConfig } from '@angelia/contracts';
import { toStorable } from '@angelia/event-log';
import { compileTemplate, type Template, type TemplateValues } from '../payload/template.ts';

/** How a route with `coalesce` or `session_key` finds the session of a webhook. */
export interface Keying {
  readonly template: Template;
  /**
   * `session`: further webhooks with the same key are further turns of one session, or of its continuation after it
   * ended. `coalesce`: only until its run starts; after that the next webhook opens a new session.
   */
  readonly by: 'session' | 'coalesce';
  readonly onBusy: NonNullable<RouteConfig['on_busy']>;
  /** null: a turn may start at once. */
  readonly window: { readonly seconds: number; readonly maxWaitSeconds: number } | null;
}

/** A longer key is stored as its hash: it is a name, and nobody reads one that long. */
const LONGEST_KEY = 200;

/** If a route has both, their templates are the same (checked when the config is read). */
export function compileKeying({ coalesce, session_key, on_busy }: RouteConfig): Keying | null {
  const source = session_key ?? coalesce?.key;
  if (source === undefined) return null;
  return {
    template: compileTemplate(source),
    by: session_key === undefined ? 'coalesce' : 'session',
    onBusy: on_busy ?? 'enqueue',
    window:
      coalesce === undefined
        ? null
        : { seconds: coalesce.window_seconds, maxWaitSeconds: coalesce.max_wait_seconds },
  };
}

/**
 * null: the payload lacks a part of the key. Such a webhook gets its own session: a key with a hole would be the same for
 * all of them and would join unrelated webhooks.
 */
export function keyOf(keying: Keying, values: TemplateValues): string | null {
  const rendered = keying.template.renderWhole(values);
  if (rendered === null || rendered.trim() === '') return null;
  const key = toStorable(rendered);
  return key.length <= LONGEST_KEY ? key : `sha256:${hash('sha256', key)}`;
}

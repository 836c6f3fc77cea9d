import { isRetryable } from '@angelia/contracts/errors';
import { pause } from '@angelia/waiting';
import type { Api } from '../api/client.ts';
import type { UnstartedWebhook } from '../api/types.ts';
import type { Context } from '../command-line/command.ts';
import { CliError } from '../exit.ts';
import { oneLine } from '../terminal/table.ts';
import { clockText } from '../terminal/time.ts';

/** Ingress writes them once a second. */
const LOOK_MS = 1_000;
/** The most that one call returns. Ingress keeps a few per second and kind, so no more come between two looks. */
const NEWEST = 200;

/**
 * For `tail`: webhooks that started no session, from now on, as the types `webhook.refused` and `webhook.ignored`. They
 * are not events of a session, so they are not in its stream.
 */
export async function showUnstartedWebhooks(
  context: Context,
  client: Api,
  signal: AbortSignal,
): Promise<void> {
  const { given, out } = context;
  const types = given.texts('type');
  const isWanted = (type: string) => types.length === 0 || types.some((prefix) => type.startsWith(prefix));
  if (!isWanted('webhook.refused') && !isWanted('webhook.ignored')) return;
  let seen: ReadonlySet<string> | null = null;
  while (!signal.aborted) {
    try {
      const { items } = await client.get<{ items: UnstartedWebhook[] }>('/v1/webhooks', {
        route: given.text('route'),
        limit: NEWEST,
      });
      for (const item of [...items].reverse()) {
        const type = typeOf(item);
        if (seen === null || seen.has(keyOf(item)) || type === null || !isWanted(type)) continue;
        out.item({ type, ...item }, () => line(type, item, context));
      }
      seen = new Set(items.map(keyOf));
    } catch (error) {
      // The feed says when the server is away for good.
      if (!(error instanceof CliError) || !isRetryable(error)) throw error;
    }
    await pause(LOOK_MS, signal);
  }
}

/** null: a repeat, or a provider that asks whether its receiver is there. */
function typeOf({ outcome }: UnstartedWebhook): 'webhook.refused' | 'webhook.ignored' | null {
  if (outcome === 'duplicate' || outcome === 'handshake') return null;
  return outcome === 'ignored' ? 'webhook.ignored' : 'webhook.refused';
}

/** They have no id. Two that are the same in all of this look the same to a person, too. */
function keyOf({ received_at, route, outcome, reason, delivery_id, detail }: UnstartedWebhook): string {
  return JSON.stringify([received_at, route, outcome, reason, delivery_id, detail]);
}

function line(type: string, item: UnstartedWebhook, { out }: Context): string {
  const where = item.route ?? `(${item.requested_route ?? 'none'})`;
  const ids = [item.event, item.delivery_id, item.source === null ? null : `from ${item.source}`];
  const what = `route ${where}, ${item.status} ${item.reason}: ${item.detail ?? item.reason}`;
  return [
    out.style('dim', clockText(item.received_at)),
    out.style(type === 'webhook.refused' ? 'warn' : 'dim', type),
    oneLine([what, ...ids.filter((id) => id !== null)].join('; ')),
  ].join('  ');
}

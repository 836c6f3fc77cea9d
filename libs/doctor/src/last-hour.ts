import { type LastHour, readLastHour } from '@angelia/event-log/admin';
import { type Finding, ok, reasonOf, skipped, warning } from './finding.ts';

/**
 * What went wrong in the last hour. Everything that Angelia depends on may be fine now, and yet somebody still waits for
 * an answer. None of it is a fault: it is over, or Angelia goes on by itself.
 */
export async function lastHourFindings(options: {
  readonly url: string | undefined;
  readonly timeoutMs: number;
  readonly now: () => number;
}): Promise<Finding[]> {
  const { url, timeoutMs, now } = options;
  if (url === undefined) return [];
  let found: LastHour;
  try {
    found = await readLastHour({ url, timeoutMs, now });
  } catch (error) {
    // The checks of Postgres say what is wrong with it.
    return [skipped('last-hour', `could not be read: ${reasonOf(error)}`)];
  }
  const findings = [
    ...found.deadDeliveries.map(deadDelivery),
    ...found.failedSessions.map(failedSession),
    ...found.refusedWebhooks.map(refusedWebhook),
    ...found.awaitedModels.map(awaitedModel),
  ];
  return findings.some(({ state }) => state !== 'ok')
    ? findings
    : [
        ok('last-hour', 'no dead delivery, no failed session, no refused webhook, no model that is down'),
        ...findings,
      ];
}

function deadDelivery({ target, deliveries, reason }: LastHour['deadDeliveries'][number]): Finding {
  return warning(
    `last-hour.deliveries.${target}`,
    `${several(deliveries, 'delivery is', 'deliveries are')} dead; the last: ${reason ?? 'no reason'}`,
    'run `angelia deliveries --status dead`, correct the cause, then `angelia retry --dead`',
  );
}

function failedSession(row: LastHour['failedSessions'][number]): Finding {
  const { code, sessions, message, sessionId } = row;
  return warning(
    `last-hour.sessions.${code}`,
    `${several(sessions, 'session', 'sessions')} failed; the last: ${message ?? code}`,
    `run \`angelia status ${sessionId}\`; \`angelia resume\` opens a continuation`,
  );
}

/** Nobody can keep strangers from guessing names. */
const OF_STRANGERS = 'unknown_route';

function refusedWebhook(row: LastHour['refusedWebhooks'][number]): Finding {
  const { route, outcome, reason, webhooks, isExact, detail } = row;
  const number = `${isExact ? '' : 'at least '}${several(webhooks, 'webhook', 'webhooks')}`;
  const why = outcome === reason ? outcome : `${outcome}: ${reason}`;
  const what = `${number} refused (${why}); the last: ${detail ?? reason}`;
  const check = `last-hour.webhooks.${route}`;
  if (outcome === OF_STRANGERS) return ok(check, what);
  return warning(
    check,
    what,
    outcome === 'rate_limited'
      ? `raise \`rate_limit\` of route ${route}, or set it to 0, and redeliver at the sender what it gave up on`
      : `run \`angelia webhooks list --route ${route} --outcome ${outcome}\``,
  );
}

function awaitedModel({ model, code, reason, sessions }: LastHour['awaitedModels'][number]): Finding {
  return warning(
    `last-hour.models.${model}`,
    `${several(sessions, 'session waits', 'sessions wait')} for it (${code})`,
    reason === 'configuration'
      ? `correct the key, base_url or model of models.${model}; the sessions continue by themselves`
      : 'wait for the provider, or add fallback_models; the sessions continue by themselves',
  );
}

function several(number: number, one: string, many: string): string {
  return `${number} ${number === 1 ? one : many}`;
}

import type { DeadLetter, Delivery, RequestedJob, Session } from '../api/types.ts';
import type { Context, Option } from '../command-line/command.ts';
import { CliError, EXIT } from '../exit.ts';
import { confirm, yesOption } from '../terminal/confirm.ts';
import { deadLetterTable } from './dead-letters-table.ts';
import { deliveryTable } from './deliveries-table.ts';
import { countText, followJob } from './follow-job.ts';
import { filterOf } from './session-filters.ts';
import { sessionTable } from './sessions.ts';

/** Of every command that does something with all that a filter finds. */
export const bulkOptions = {
  'dry-run': { summary: 'with filters: only count, and show the first ten' },
  detach: { summary: 'with filters: do not wait for the end of the job; print its id' },
  ...yesOption,
} as const satisfies Readonly<Record<string, Option>>;

export const BULK =
  'With filters instead of ids, one job does it with everything that the filters find now, also if you stop watching it. It ' +
  'asks first: --dry-run counts and shows the first ten, --yes does not ask. `angelia jobs` lists the jobs.';

interface Bulk {
  readonly action: 'resume' | 'cancel' | 'erase' | 'retry-deliveries' | 'replay-dead-letters';
  /** Options that are filters. */
  readonly filters: readonly string[];
  /** The question: `cancel 12 sessions`. */
  readonly question: (count: string) => string;
}

/** Whether the user gave filters. Then there must be no ids. */
export function isBulk({ given }: Context, ids: readonly string[], options: readonly string[]): boolean {
  const used = options.filter((option) => given.text(option) !== null);
  if (ids.length > 0 && used.length > 0) {
    throw new CliError(EXIT.usage, `give ids or filters (--${used[0]}), not both`);
  }
  return used.length > 0;
}

/** Previews, asks, requests the job and follows it. */
export async function runBulk(context: Context, bulk: Bulk): Promise<number | undefined> {
  const { api, given, out } = context;
  const client = api();
  const request = (isDryRun: boolean): Promise<RequestedJob> =>
    client.send('POST', '/v1/jobs', {
      body: { action: bulk.action, filter: filterOf(given, bulk.filters), dry_run: isDryRun },
    });
  if (given.switch('dry-run') || !given.switch('yes')) {
    const preview = await request(true);
    if (given.switch('dry-run')) {
      out.answer(preview, () => previewText(preview, bulk, context));
      return undefined;
    }
    if (preview.matches === 0) {
      out.answer(preview, () => 'nothing matches these filters');
      return undefined;
    }
    if (!out.json) context.runtime.stderr.write(`${sampleText(preview, bulk, context)}\n`);
    await confirm(context, bulk.question(countText(preview)));
  }
  const requested = await request(false);
  const id = requested.job_id ?? '';
  if (given.switch('detach')) {
    out.answer(requested, () => `job ${id} is requested: ${countText(requested)} found`);
    return undefined;
  }
  out.note(`job ${id}: ${countText(requested)} found`);
  return followJob(context, id);
}

function previewText(preview: RequestedJob, bulk: Bulk, context: Context): string {
  const found = `would ${bulk.question(countText(preview))}`;
  return preview.sample.length === 0 ? found : `${found}\n${sampleText(preview, bulk, context)}`;
}

function sampleText({ sample, matches }: RequestedJob, { action }: Bulk, context: Context): string {
  const more = matches - sample.length;
  const tail = more > 0 ? `\n... and ${more} more` : '';
  if (action === 'retry-deliveries') return `${deliveryTable(sample as Delivery[], context)}${tail}`;
  if (action === 'replay-dead-letters') return `${deadLetterTable(sample as DeadLetter[], context)}${tail}`;
  return `${sessionTable(sample as Session[], context)}${tail}`;
}

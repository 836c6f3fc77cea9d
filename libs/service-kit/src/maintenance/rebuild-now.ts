import { type RebuildResult, rebuildViews } from '@angelia/event-log/admin';
import { projectViews } from '@angelia/sessions';

/** Builds the views anew from the whole log, beside the old ones, and then switches. The services may go on meanwhile. */
export function rebuildNow(url: string): Promise<RebuildResult> {
  return rebuildViews({ url, project: projectViews });
}

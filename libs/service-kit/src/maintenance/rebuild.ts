import { type RebuildResult, rebuildViews } from '@angelia/event-log';
import { projectViews } from '@angelia/sessions';

/** Builds the views again from the whole log, beside the old ones, then switches. The services can go on meanwhile. */
export function rebuildNow(url: string): Promise<RebuildResult> {
  return rebuildViews({ url, project: projectViews });
}

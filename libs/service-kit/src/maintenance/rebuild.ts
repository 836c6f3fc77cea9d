import { type RebuildResult, rebuildViews } from '@angelia/event-log/admin';
import { projectRecorded } from '@angelia/sessions';

/** The views anew from the whole log, beside the old ones; then it switches. The services may go on meanwhile. */
export function rebuildNow(url: string): Promise<RebuildResult> {
  return rebuildViews({ url, project: projectRecorded });
}

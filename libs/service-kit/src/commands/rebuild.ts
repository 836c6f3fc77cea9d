import { rebuildViews, runCommand } from '@angelia/event-log';
import { projectRecorded } from '../project-recorded.ts';

/** `rebuild`: the views anew from the whole log, beside the old ones; then it switches. The services may go on meanwhile. */
await runCommand('rebuild', async (url) => {
  const { build, events } = await rebuildViews({ url, project: projectRecorded });
  return [`the views are rebuilt from ${events} events (build ${build})`];
});

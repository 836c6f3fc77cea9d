import type { ProjectSession } from '@angelia/event-log';
import { projectSession } from '@angelia/session';
import { upcast } from './upcast.ts';

/** Projects recorded events of any schema version to the rows of the views. */
export const projectViews: ProjectSession = (state, events) =>
  projectSession(
    state as Parameters<typeof projectSession>[0],
    events.map((event) => upcast(event)),
  );

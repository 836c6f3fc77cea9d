import type { ProjectSession } from '@angelia/event-log';
import { projectSession } from '@angelia/session';
import { upcast } from './upcast.ts';

/** Views are made of events in the newest schema, like everything else behind `upcast`. */
export const projectViews: ProjectSession = (state, events) =>
  projectSession(
    state as Parameters<typeof projectSession>[0],
    events.map((event) => upcast(event)),
  );

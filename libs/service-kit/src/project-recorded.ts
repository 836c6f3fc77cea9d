import type { ProjectSession } from '@angelia/event-log';
import { projectSession } from '@angelia/session';
import { upcast } from './upcast.ts';

/** The views are made of events as the newest schema has them, like everything else behind `upcast`. */
export const projectRecorded: ProjectSession = (state, events) =>
  projectSession(
    state as Parameters<typeof projectSession>[0],
    events.map((event) => upcast(event)),
  );

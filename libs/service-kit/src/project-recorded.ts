import type { ProjectSession } from '@angelia/event-log';
import { projectSession } from '@angelia/session';
import { projectAndMeasure } from './metrics/log-facts.ts';
import { upcast } from './upcast.ts';

/** The views are made of events as the newest schema has them, like everything else behind `upcast`. */
export const projectRecorded: ProjectSession = (state, events) =>
  projectSession(
    state as Parameters<typeof projectSession>[0],
    events.map((event) => upcast(event)),
  );

/** The same, with what the events say to somebody who counts. */
export const projectMeasured: ProjectSession = (state, events) =>
  projectAndMeasure(
    state,
    events.map((event) => upcast(event)),
  );

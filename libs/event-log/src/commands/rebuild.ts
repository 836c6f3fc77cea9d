import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { rebuildViews } from '../rebuild.ts';
import type { ProjectSession } from '../view-rows.ts';
import { runCommand } from './command-line.ts';

/**
 * `rebuild <module>`: the module exports `projectSession`. This package knows no sessions, so the function that the
 * views are made by has to be named.
 */
await runCommand('rebuild', async (url) => {
  const path = process.argv[2] ?? process.env.ANGELIA_PROJECTION;
  if (path === undefined) {
    throw new Error('no projection was named: give the path of the module that exports projectSession');
  }
  const module = (await import(pathToFileURL(resolve(path)).href)) as { projectSession?: ProjectSession };
  if (typeof module.projectSession !== 'function')
    throw new Error(`${path} exports no function projectSession`);
  const { build, events } = await rebuildViews({ url, project: module.projectSession });
  return [`the views are rebuilt from ${events} events (build ${build})`];
});

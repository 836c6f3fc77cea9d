import type { Command } from '../command-line/command.ts';
import { approvalsList, approve, deny } from './approvals.ts';
import { chatList, chatPair, chatPairings, chatSetup, chatUnpair } from './chats.ts';
import { completionNames, completionOf } from './completion.ts';
import { configCheck, configReload } from './config.ts';
import { openConsole } from './console.ts';
import { deadLettersList, deadLettersReplay } from './dead-letters.ts';
import { deliveriesList, retry } from './deliveries.ts';
import { doctor } from './doctor.ts';
import { erase } from './erase.ts';
import { importHermesConfig } from './import-hermes.ts';
import { init } from './init.ts';
import { jobsCancel, jobsList, jobsShow } from './jobs.ts';
import { logs } from './logs.ts';
import { exportSessions, importSessions, prune, rebuild } from './maintenance.ts';
import { overview, system } from './overview.ts';
import { processesKill, processesList, processesOutput } from './processes.ts';
import { questionsList } from './questions.ts';
import { restart } from './restart.ts';
import { routesPreview, routesTest } from './route-trials.ts';
import { routesAdd, routesList, routesRemove, routesRotateSecret, routesShow } from './routes.ts';
import { send } from './send.ts';
import { sessionsList } from './sessions.ts';
import { status } from './status.ts';
import { tail } from './tail.ts';
import { transcript } from './transcript.ts';
import { answer, cancel, message, resume } from './turns.ts';
import { webhooksCounts, webhooksList } from './webhooks.ts';

/**
 * Every command, in the order of the help and of docs/cli.md. A new command is a file beside this one and a line here. It
 * imports what it needs beyond the API when it runs.
 */
export const commands: readonly Command[] = [
  send,
  overview,
  sessionsList,
  status,
  logs,
  tail,
  transcript,
  message,
  questionsList,
  answer,
  approvalsList,
  approve,
  deny,
  cancel,
  resume,
  erase,
  deliveriesList,
  retry,
  deadLettersList,
  deadLettersReplay,
  jobsList,
  jobsShow,
  jobsCancel,
  processesList,
  processesOutput,
  processesKill,
  routesList,
  routesShow,
  routesAdd,
  routesRemove,
  routesRotateSecret,
  routesPreview,
  routesTest,
  chatList,
  chatSetup,
  chatPair,
  chatPairings,
  chatUnpair,
  webhooksList,
  webhooksCounts,
  prune,
  exportSessions,
  importSessions,
  rebuild,
  openConsole,
  configCheck,
  configReload,
  system,
  restart,
  doctor,
  init,
  importHermesConfig,
  completionOf(() => commands),
  completionNames,
];

import type { Session, SessionEvent, SessionRef } from '../api/types.ts';
import { type Context, defineCommand, type Option } from '../command-line/command.ts';
import { CliError, EXIT } from '../exit.ts';
import { readStdin } from '../terminal/read-input.ts';
import { BULK, bulkOptions, runBulk } from './bulk.ts';
import { forEachNamed } from './for-each.ts';
import { oneOrFiltered, sessionArgument, sessionOrFilters, sessionPath } from './session-argument.ts';
import { sessionFilters } from './session-filters.ts';
import { waitForSession, waitOptions } from './wait.ts';

const idempotencyOption = {
  'idempotency-key': { value: 'key', summary: 'a repeat with the same key has no effect' },
} as const satisfies Readonly<Record<string, Option>>;

const EXAMPLE = '01a1e281-20d9-7563-b8f1-427765d52c50';

export const message = defineCommand({
  name: 'message',
  summary: 'send the agent a message, as a further turn',
  description:
    'While a question is open, a message is the answer to it. With --new-turn, the message becomes the next turn instead, and ' +
    'the question is closed. If the session has ended, this opens a continuation and prints its id.',
  arguments: [sessionArgument, { name: 'text', summary: 'what to say; `-` reads it from stdin' }],
  options: {
    'new-turn': { summary: 'not an answer to the open question: close the question' },
    ...idempotencyOption,
    ...waitOptions,
  },
  examples: [
    { command: `angelia message ${EXAMPLE} "Now look at the tests, too"`, does: 'a further turn' },
    {
      command: `git diff | angelia message ${EXAMPLE} - --wait`,
      does: 'send a long text and wait for the answer',
    },
  ],
  calls: ['post /v1/sessions/{id}/messages'],
  run: async (context) => {
    const text = await textOf(context);
    return say(context, { text, new_turn: context.given.switch('new-turn') });
  },
});

export const answer = defineCommand({
  name: 'answer',
  summary: 'answer the open question of a session',
  description: 'Without a text, it shows the question. Exit code 6 means that no question is open.',
  arguments: [
    sessionArgument,
    { name: 'text', optional: true, summary: 'the answer; `-` reads it from stdin' },
  ],
  options: {
    choice: { value: 'n', summary: 'the n-th choice of the question' },
    ...idempotencyOption,
    ...waitOptions,
  },
  examples: [
    { command: `angelia answer ${EXAMPLE}`, does: 'what does it ask?' },
    { command: `angelia answer ${EXAMPLE} "the staging cluster"`, does: 'answer it' },
    {
      command: `angelia answer ${EXAMPLE} --choice 2 --wait`,
      does: 'choose the second answer, then follow the session',
    },
  ],
  calls: ['post /v1/sessions/{id}/answers'],
  run: async (context) => {
    const { given, out } = context;
    const question = await openQuestion(context);
    const nth = given.number('choice', { from: 1, to: Math.max(1, question.choices.length) });
    if (nth !== null && given.argument('text') !== null) {
      throw new CliError(EXIT.usage, 'give a text or --choice, not both');
    }
    if (nth === null && given.argument('text') === null) {
      out.answer(question, () =>
        [
          question.question,
          ...question.choices.map((choice, index) => `  ${index + 1}. ${choice}`),
          out.style('dim', `open until ${question.deadline}`),
        ].join('\n'),
      );
      return undefined;
    }
    const chosen = nth === null ? undefined : question.choices[nth - 1];
    if (nth !== null && chosen === undefined) {
      throw new CliError(EXIT.usage, 'this question has no choices: give a text');
    }
    // This question: one that the session asks meanwhile is not answered by mistake.
    const taken = await context.api().send<SessionRef>('POST', `${sessionPath(given)}/answers`, {
      body: { clarification_id: question.clarification_id, answer: chosen ?? (await textOf(context)) },
      headers: keyHeader(context),
    });
    return report(context, taken, 'continues as');
  },
});

export const resume = defineCommand({
  name: 'resume',
  summary: 'continue an ended session in a continuation',
  description:
    'The continuation has the whole conversation. This prints its id. Exit code 6 means that the session has not ended. ' +
    `${BULK} It resumes failed sessions, unless --outcome says otherwise, and only those that nobody has continued.`,
  arguments: [sessionOrFilters],
  options: { ...sessionFilters, ...idempotencyOption, ...waitOptions, ...bulkOptions },
  examples: [
    { command: `angelia resume ${EXAMPLE} --wait`, does: 'let the agent finish' },
    { command: 'angelia resume --failure timeout --since 2h --dry-run', does: 'how many would it be?' },
    { command: 'angelia resume --since 2h --yes', does: 'all that failed in the last two hours' },
  ],
  calls: ['post /v1/sessions/{id}/resume', 'post /v1/jobs'],
  run: async (context) => {
    const { api, given } = context;
    if (oneOrFiltered(context, 'resume') === 'filtered') {
      return runBulk(context, {
        action: 'resume',
        filters: Object.keys(sessionFilters),
        question: (count) => `resume ${count} sessions`,
      });
    }
    const taken = await api().send<SessionRef>('POST', `${sessionPath(given)}/resume`, {
      headers: keyHeader(context),
    });
    return report(context, taken, 'continues as');
  },
});

export const cancel = defineCommand({
  name: 'cancel',
  summary: 'end sessions now',
  description: `They end as \`cancelled\`, and their work stops. Exit code 6 means that a session has already ended. ${BULK}`,
  arguments: [{ ...sessionOrFilters, many: true }],
  options: { ...sessionFilters, ...bulkOptions },
  examples: [
    { command: `angelia cancel ${EXAMPLE}`, does: 'stop it' },
    { command: 'angelia cancel --route github-pr --status queued --dry-run', does: 'how many would it be?' },
  ],
  calls: ['post /v1/sessions/{id}/cancel', 'post /v1/jobs'],
  run: async (context) => {
    const { api, given, out } = context;
    if (oneOrFiltered(context, 'cancel') === 'filtered') {
      return runBulk(context, {
        action: 'cancel',
        filters: Object.keys(sessionFilters),
        question: (count) => `cancel ${count} sessions`,
      });
    }
    const client = api();
    return forEachNamed({ out }, given.argumentsFrom('session'), async (id) => {
      const taken = await client.send<SessionRef>('POST', `/v1/sessions/${encodeURIComponent(id)}/cancel`);
      out.item(taken, () => `${taken.session_id} is cancelled`);
    });
  },
});

async function say(
  context: Context,
  body: { text: string; new_turn?: boolean },
): Promise<number | undefined> {
  const { api, given } = context;
  const taken = await api().send<SessionRef>('POST', `${sessionPath(given)}/messages`, {
    body,
    headers: keyHeader(context),
  });
  return report(context, taken, 'continues as');
}

async function report(context: Context, taken: SessionRef, continued: string): Promise<number | undefined> {
  const { api, given, out } = context;
  const asked = given.argument('session');
  out.item(taken, () =>
    taken.session_id === asked
      ? `${taken.session_id} accepted it`
      : `${asked} ${continued} ${taken.session_id}`,
  );
  return given.switch('wait') ? waitForSession(context, api(), taken.session_id) : undefined;
}

function keyHeader({ given }: Context): Record<string, string> {
  const key = given.text('idempotency-key');
  return key === null ? {} : { 'idempotency-key': key };
}

async function textOf({ given, runtime }: Context): Promise<string> {
  const text = given.argument('text') ?? '';
  return text === '-' ? readStdin(runtime) : text;
}

interface Question {
  readonly clarification_id: string;
  readonly question: string;
  readonly choices: readonly string[];
  readonly deadline: string;
}

/** @throws CliError 6 when none is open */
async function openQuestion({ api, given }: Context): Promise<Question> {
  const client = api();
  const session = await client.get<Session>(sessionPath(given));
  const { clarification } = session;
  if (clarification === undefined) {
    throw new CliError(
      EXIT.refused,
      `session ${session.id} has no open question (it is ${session.outcome ?? session.status})`,
      `to send it a message: angelia message ${session.id} "..."`,
    );
  }
  const { items } = await client.get<{ items: SessionEvent[] }>(`${sessionPath(given)}/events`);
  const asked = items.findLast(
    ({ type, data }) => type === 'clarification.requested' && data.clarification_id === clarification.id,
  );
  return {
    clarification_id: clarification.id,
    question: String(asked?.data.question ?? ''),
    choices: (asked?.data.choices ?? []) as readonly string[],
    deadline: clarification.deadline,
  };
}

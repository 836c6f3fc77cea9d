import { toStorable } from '@angelia/event-log';
import type { UserTool } from './tool.ts';

/** A question is a chat message, not a document. */
const LONGEST_QUESTION = 4_000;
/** More would be a list to search through; then the question should ask for text. */
const MOST_CHOICES = 12;
const LONGEST_CHOICE = 200;

interface ClarifyArguments {
  readonly question: string;
  readonly choices?: readonly string[] | null;
}

/**
 * Asks the person who gets the answers. The question is an output like any other. Asking ends the run, so that no runner
 * is held while a person thinks. The answer, or that none came, is the call's result in the next run.
 */
export const clarifyTool: UserTool = {
  name: 'clarify',
  by: 'user',
  description:
    'Ask the user a question and wait for the answer. Use it only when you cannot go on without it: the answer may ' +
    'take hours, or never come. Give `choices` when the answer is one of a few. The result is {"answer": "..."}, or ' +
    '{"answer": null, "timed_out": true} when none came.',
  parameters: {
    type: 'object',
    properties: {
      question: { type: 'string', description: 'the whole question: the user sees nothing else' },
      choices: {
        type: 'array',
        items: { type: 'string' },
        description: `up to ${MOST_CHOICES} answers to choose from; leave it out for a free text`,
      },
    },
    required: ['question'],
    additionalProperties: false,
  },

  check(args) {
    if (typeof args !== 'object' || args === null || Array.isArray(args)) return 'an object is wanted';
    const { question, choices = null, ...unknown } = args as Record<string, unknown>;
    const [strange] = Object.keys(unknown);
    if (strange !== undefined) return `there is no argument \`${strange}\``;
    if (!isText(question, LONGEST_QUESTION)) {
      return `\`question\` must be a text of 1 to ${LONGEST_QUESTION} characters`;
    }
    if (choices === null) return null;
    if (!Array.isArray(choices) || choices.length > MOST_CHOICES) {
      return `\`choices\` must be a list of at most ${MOST_CHOICES} texts`;
    }
    if (!choices.every((choice) => isText(choice, LONGEST_CHOICE))) {
      return `each of \`choices\` must be a text of 1 to ${LONGEST_CHOICE} characters`;
    }
    return new Set(choices.map((choice) => choice.trim())).size === choices.length
      ? null
      : 'two of `choices` are the same';
  },

  ask(args, { run, agent, callId }) {
    const { question, choices } = args as ClarifyArguments;
    return run.end([
      {
        type: 'request-clarification',
        generation: run.generation,
        // The same if the append is repeated: one call asks once.
        clarificationId: `question-${callId}`,
        callId,
        question: toStorable(question.trim()),
        choices: (choices ?? []).map((choice) => toStorable(choice.trim())),
        // By the database's clock: the time at which it recorded the step that asks, a moment ago.
        deadline: run.loaded.state.lastActivityAt + agent.clarify.timeout_seconds * 1000,
        onTimeout: agent.clarify.on_timeout,
      },
    ]);
  },
};

function isText(value: unknown, longest: number): value is string {
  return typeof value === 'string' && value.trim() !== '' && value.length <= longest;
}

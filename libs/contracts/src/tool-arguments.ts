import { z } from 'zod';
import { inOneLine, validate } from './validate.ts';

/**
 * The arguments of the tools that process-watcher carries out (INTERFACES.md, "Tools that a model sees"). The runner
 * shows them to the model and checks a call before it starts. The watcher parses them again with the same schema.
 */

const seconds = z.number().positive();
/** Longer work belongs in the background, because a run waits for a foreground call. */
const LONGEST_FOREGROUND_SECONDS = 3600;
/** Linux allows 128 KiB per argument, and the command line is one argument of the shell. */
const LONGEST_COMMAND = 100_000;

export const terminalArguments = z
  .strictObject({
    command: z
      .string()
      .min(1)
      .max(LONGEST_COMMAND)
      .refine((command) => !command.includes('\0'), 'a command has no NUL character')
      .describe('A command line for the shell.'),
    background: z
      .boolean()
      .default(false)
      .describe('Start it and return its process_id at once, instead of waiting for its end.'),
    timeout_seconds: seconds
      .max(LONGEST_FOREGROUND_SECONDS)
      .default(180)
      .describe('In the foreground: it is killed after this long.'),
    cwd: z.string().min(1).optional().describe('Working directory. Default: the session’s own.'),
    notify_on_complete: z
      .boolean()
      .default(false)
      .describe('In the background: tell you when it has ended, with its exit code and last output.'),
    watch_patterns: z
      .array(
        z
          .string()
          .min(1)
          .max(1000)
          .refine((text) => !text.includes('\n'), 'a pattern is part of one line: it has no line break'),
      )
      .max(20)
      .default([])
      .describe('In the background: tell you when a line of its output contains one of these texts.'),
  })
  .superRefine(({ background, notify_on_complete, watch_patterns }, context) => {
    if (background) return;
    const refuse = (key: string) =>
      context.addIssue({ code: 'custom', path: [key], message: 'only with `background: true`' });
    if (notify_on_complete) refuse('notify_on_complete');
    if (watch_patterns.length > 0) refuse('watch_patterns');
  });

const processActions = ['list', 'poll', 'log', 'wait', 'kill', 'write'] as const;

export const processArguments = z
  .strictObject({
    action: z.enum(processActions),
    process_id: z
      .string()
      .min(1)
      .optional()
      .describe('From `terminal`. Required by all actions except list.'),
    timeout_seconds: seconds
      .max(LONGEST_FOREGROUND_SECONDS)
      .default(180)
      .describe('wait: the longest time to wait. The process goes on after that.'),
    data: z.string().optional().describe('write: what to write to its standard input.'),
    lines: z.number().int().positive().max(10_000).default(200).describe('log: number of last lines.'),
    offset: z
      .number()
      .int()
      .nonnegative()
      .optional()
      .describe(
        'log: a page from this byte on (`next_offset` of the previous page) instead of the last lines.',
      ),
    close: z.boolean().default(false).describe('write: close its standard input after the data.'),
  })
  .superRefine(({ action, process_id, data }, context) => {
    const refuse = (key: string) =>
      context.addIssue({ code: 'custom', path: [key], message: `\`${action}\` needs it` });
    if (action !== 'list' && process_id === undefined) refuse('process_id');
    if (action === 'write' && data === undefined) refuse('data');
  });

export type TerminalArguments = z.infer<typeof terminalArguments>;
export type ProcessArguments = z.infer<typeof processArguments>;

/** The schema of a tool's arguments that the model reads. */
export function argumentsJsonSchema(schema: z.ZodType): Readonly<Record<string, unknown>> {
  const { $schema: _, ...rest } = z.toJSONSchema(schema, { io: 'input' });
  return rest;
}

/** What is wrong with the arguments, in one line from which a model can correct them. Null: nothing. */
export function argumentsProblem(schema: z.ZodType, args: unknown): string | null {
  const parsed = parseToolArguments(schema, args);
  return parsed.ok ? null : parsed.problem;
}

/** The arguments with their defaults, or what is wrong with them, in one line from which a model can correct them. */
export function parseToolArguments<T extends z.ZodType>(
  schema: T,
  args: unknown,
): { readonly ok: true; readonly args: z.output<T> } | { readonly ok: false; readonly problem: string } {
  const checked = validate(schema, args);
  if (checked.ok) return { ok: true, args: checked.value };
  const lines = checked.problems.map(({ place, reason }) => (place === '' ? reason : `${place}: ${reason}`));
  return { ok: false, problem: inOneLine(lines) };
}

import { z } from 'zod';
import { httpUrl, positiveSeconds } from './values.ts';

/** A server of tools (Model Context Protocol): a program of the operator, or a URL. */
export const mcpServerSchema = z
  .strictObject({
    /** The program, used over stdin and stdout. Its arguments are in `args`. */
    command: z.string().min(1).optional(),
    args: z.array(z.string()).optional(),
    /** Added to PATH, HOME and the like. The program gets no other variables of ours. */
    env: z.record(z.string(), z.string()).optional(),
    cwd: z.string().min(1).optional(),
    /** Streamable HTTP. */
    url: httpUrl.optional(),
    headers: z.record(z.string(), z.string()).optional(),
    /** Limit for one call. */
    timeout_seconds: positiveSeconds.max(86_400).default(120),
  })
  .superRefine((given, context) => {
    const refuse = (message: string, path: string[] = []) =>
      context.addIssue({ code: 'custom', message, path });
    if ((given.command === undefined) === (given.url === undefined)) {
      refuse('an MCP server has either a `command` (stdio) or a `url` (streamable HTTP). Set one of them.');
      return;
    }
    const foreign = given.command === undefined ? (['args', 'env', 'cwd'] as const) : (['headers'] as const);
    for (const key of foreign) {
      if (given[key] === undefined) continue;
      refuse(
        `this key needs ${given.command === undefined ? '`command`' : '`url`'}, which this server does not have. Remove it.`,
        [key],
      );
    }
  });

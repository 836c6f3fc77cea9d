import { openApi } from './api/client.ts';
import { baseUrlOf, tokenOf } from './api/connection.ts';
import type { Command, Context } from './command-line/command.ts';
import { commandHelp, groupHelp, overview } from './command-line/help.ts';
import { parse, subcommandsOf } from './command-line/parse.ts';
import { commands as allCommands } from './commands/all-commands.ts';
import { CliError, EXIT } from './exit.ts';
import type { Runtime } from './runtime.ts';
import { outputFor } from './terminal/output.ts';
import { VERSION } from './version.ts';

/** Runs one call of the command line, from its arguments to its exit code. A failure is one line on stderr. */
export async function runCli(
  argv: readonly string[],
  runtime: Runtime,
  commands: readonly Command[] = allCommands,
): Promise<number> {
  // Read before parsing, so that a parse error is printed as JSON as well.
  const json = argv.includes('--json');
  try {
    return await dispatch(argv, runtime, commands, json);
  } catch (error) {
    if (runtime.signal.aborted) return EXIT.interrupted;
    if (!(error instanceof CliError)) throw error;
    outputFor(runtime, json).failure(error);
    return error.exitCode;
  }
}

async function dispatch(
  argv: readonly string[],
  runtime: Runtime,
  commands: readonly Command[],
  json: boolean,
): Promise<number> {
  const parsed = parse(argv, commands);
  const out = outputFor(runtime, json);
  if (parsed.kind === 'version') {
    out.answer({ version: VERSION }, () => VERSION);
    return EXIT.ok;
  }
  if (parsed.kind === 'help') {
    const { topic } = parsed;
    if (topic === null) {
      const text = overview(commands, out.style);
      // No command was given: the same text, but the exit code of a usage error.
      if (!parsed.asked) runtime.stderr.write(`${text}\n`);
      else out.answer(helpJson(commands), () => text);
      return parsed.asked ? EXIT.ok : EXIT.usage;
    }
    const shown = commands.filter((each) => each.name === topic);
    const members = subcommandsOf(topic, commands);
    out.answer(helpJson([...shown, ...members]), () =>
      [
        ...shown.map((each) => commandHelp(each, out.style)),
        ...(members.length > 0 ? [groupHelp(topic, members, out.style)] : []),
      ].join('\n\n'),
    );
    return EXIT.ok;
  }
  const { command, given } = parsed;
  const context: Context = {
    runtime,
    out,
    given,
    api: () => {
      const baseUrl = baseUrlOf(runtime, given);
      const token = tokenOf(runtime, given, baseUrl);
      return openApi({ baseUrl, token, signal: runtime.signal, forTerminal: !json });
    },
  };
  return (await command.run(context)) ?? EXIT.ok;
}

function helpJson(commands: readonly Command[]): unknown {
  return {
    commands: commands.map(({ name, summary, description, arguments: args, options, examples }) => ({
      name,
      summary,
      ...(description === undefined ? {} : { description }),
      arguments: args ?? [],
      options: options ?? {},
      examples,
    })),
  };
}

import { openApi } from './api.ts';
import type { Command, Context } from './command.ts';
import { commands as allCommands } from './commands/table.ts';
import { baseUrlOf, tokenOf } from './connection.ts';
import { CliError, EXIT } from './exit.ts';
import { commandHelp, groupHelp, overview } from './help.ts';
import { parse, subcommandsOf } from './parse.ts';
import { outputFor } from './terminal/output.ts';
import { VERSION } from './version.ts';
import type { World } from './world.ts';

/** One call of the command line, from its arguments to its exit code. Whatever goes wrong is one line on stderr. */
export async function runCli(
  argv: readonly string[],
  world: World,
  commands: readonly Command[] = allCommands,
): Promise<number> {
  // Known before anything is parsed, so that a wrong option is told as asked for, too.
  const json = argv.includes('--json');
  try {
    return await dispatch(argv, world, commands, json);
  } catch (error) {
    if (world.signal.aborted) return EXIT.interrupted;
    if (!(error instanceof CliError)) throw error;
    outputFor(world, json).failure(error);
    return error.exitCode;
  }
}

async function dispatch(
  argv: readonly string[],
  world: World,
  commands: readonly Command[],
  json: boolean,
): Promise<number> {
  const parsed = parse(argv, commands);
  const out = outputFor(world, json);
  if (parsed.kind === 'version') {
    out.answer({ version: VERSION }, () => VERSION);
    return EXIT.ok;
  }
  if (parsed.kind === 'help') {
    const { topic } = parsed;
    if (topic === null) {
      const text = overview(commands, out.style);
      // Nothing was asked for: the same text, and the exit code of a mistake.
      if (!parsed.asked) world.stderr.write(`${text}\n`);
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
    world,
    out,
    given,
    api: () => {
      const baseUrl = baseUrlOf(world, given);
      const token = tokenOf(world, given, baseUrl);
      return openApi({ baseUrl, token, signal: world.signal, forTerminal: !json });
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

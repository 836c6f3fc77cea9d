import { type Api, openApi } from './api/client.ts';
import { baseUrlOf, tokenOf } from './api/connection.ts';
import type { Command, Context } from './command-line/command.ts';
import { commandHelp, groupHelp, overview } from './command-line/help.ts';
import { parse, subcommandsOf } from './command-line/parse.ts';
import { commands as allCommands } from './commands/all-commands.ts';
import { CliError, EXIT } from './exit.ts';
import { withWholeIds } from './names/whole-ids.ts';
import type { Runtime } from './runtime.ts';
import { type Format, outputFor } from './terminal/output.ts';
import { VERSION } from './version.ts';

/** Runs one call of the command line, from its arguments to its exit code. A failure is one line on stderr. */
export async function runCli(
  argv: readonly string[],
  runtime: Runtime,
  commands: readonly Command[] = allCommands,
): Promise<number> {
  // Read before parsing, so that a parse error is printed as JSON as well.
  const format = formatOf(argv);
  try {
    return await dispatch(argv, runtime, commands, format);
  } catch (error) {
    if (runtime.signal.aborted) return EXIT.interrupted;
    if (!(error instanceof CliError)) throw error;
    outputFor(runtime, format).failure(error);
    return error.exitCode;
  }
}

async function dispatch(
  argv: readonly string[],
  runtime: Runtime,
  commands: readonly Command[],
  format: Format,
): Promise<number> {
  const parsed = parse(argv, commands);
  const out = outputFor(runtime, format);
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
    const group = subcommandsOf(topic, commands);
    const [only, ...others] = group;
    // The list of a noun that has no other command.
    const shown = commands.filter(
      (each) => each.name === topic || (each === only && others.length === 0 && each.isDefault === true),
    );
    const members = group.filter((each) => !shown.includes(each));
    out.answer(helpJson([...shown, ...members]), () =>
      [
        ...shown.map((each) => commandHelp(each, out.style)),
        ...(members.length > 0 ? [groupHelp(topic, members, out.style)] : []),
      ].join('\n\n'),
    );
    return EXIT.ok;
  }
  const { command, given } = parsed;
  const api = (): Api => {
    const baseUrl = baseUrlOf(runtime, given);
    const token = tokenOf(runtime, given, baseUrl);
    return openApi({ baseUrl, token, signal: runtime.signal, forTerminal: !out.json });
  };
  const context: Context = { runtime, out, api, given: await withWholeIds(given, command, api) };
  return (await command.run(context)) ?? EXIT.ok;
}

/** `--json`, `-o json`, `-o=json`, `-ojson`, `--output json` or `--output=json`. */
function formatOf(argv: readonly string[]): Format {
  const line = argv.join(' ');
  if (argv.includes('--json') || /(^| )(-o|--output)[ =]?json( |$)/.test(line)) return 'json';
  return /(^| )(-o|--output)[ =]?wide( |$)/.test(line) ? 'wide' : 'table';
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

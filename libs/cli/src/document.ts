import type { Command, Option } from './command.ts';
import { exitMeanings } from './exit.ts';
import { globalOptions } from './global-options.ts';
import { optionText, sentence, usageOf } from './help.ts';

/** docs/cli.md. The command part is made of the table (commands/write-document.ts); a test fails while it is out of date. */
export function cliDocument(commands: readonly Command[]): string {
  return [
    INTRODUCTION,
    '## Options of every command\n',
    optionList(globalOptions),
    '\n## Exit codes\n',
    exitTable(),
    '\n## Commands\n',
    commands.map(commandSection).join('\n'),
  ]
    .join('\n')
    .trimEnd()
    .concat('\n');
}

const INTRODUCTION = `# The command line

\`angelia\` does everything that the API can do, and some things on the database. <!-- Made by
\`node libs/cli/src/commands/write-document.ts\`: change libs/cli/src, not this file. -->

\`\`\`sh
npx angelia send demo --wait          # in the repository, after \`npm start\` was run once
docker compose exec ingress angelia sessions
\`\`\`

In the repository \`npx angelia\` runs the one that \`npm start\` built, under the Node that it fetched; npm finds it by \`bin\` of the
repository's own package.json, so that nothing is looked for in the registry (call it at the root of the repository). npm itself takes a second or two for that;
\`alias angelia=$PWD/node_modules/.bin/angelia\` does not.

\`angelia help\` lists the commands, \`angelia help <command>\` (or \`--help\`) shows one with its examples.

**Where it connects**: \`--url\`, else \`ANGELIA_URL\`, else \`http://ANGELIA_HOST:ANGELIA_PORT\`, as for \`npm start\`.

**The admin token**: \`--token-file\`, else \`ANGELIA_ADMIN_TOKEN\`, else \`$ANGELIA_DATA/admin-token\` of the local stack, which is sent to
this machine only. There is no option for the token itself: other users of the machine could read it in \`ps\`.

**The database** (\`prune\`, \`export\`, \`import\`, \`rebuild\`): \`DATABASE_URL\`, else the Postgres of the local stack in \`$ANGELIA_DATA\`.

**\`--json\`**: a command prints one JSON document on stdout. What the API answered is printed as it answered: lists are
\`{"items": [...], "next_cursor": ...}\`; \`status\` is the session with its \`timeline\`. What goes on (\`logs\`, \`tail\`, \`sessions --watch\`, anything with
\`--wait\`) and what takes several arguments (\`cancel\`, \`retry\`, \`import\` ...) prints one document per line. An error is one line on stderr:
\`{"error": "...", "code": "not_found", "exit_code": 3}\`, with \`code\` from the table below. Fields may be added; a reader ignores what it does not know.

**Colours** are for terminals: \`NO_COLOR\` turns them off, \`FORCE_COLOR=1\` on. Tables are fitted to the terminal's width; ids are never
cut short, and without a terminal nothing is. Escape sequences in what others wrote are made visible.
`;

/** Its columns padded, as the formatter wants it. */
function exitTable(): string {
  const rows = [
    ['code', 'name', 'meaning'],
    ...exitMeanings.map(([code, name, meaning]) => [String(code), `\`${name}\``, meaning]),
  ];
  const widths = [0, 1, 2].map((column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)));
  const [head = '', ...body] = rows.map(
    (row) => `| ${row.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join(' | ')} |`,
  );
  return [head, `| ${widths.map((width) => '-'.repeat(width)).join(' | ')} |`, ...body].join('\n');
}

function commandSection(command: Command): string {
  const { name, summary, description, arguments: args = [], options = {}, examples, isDefault } = command;
  const group = name.split(' ')[0] ?? '';
  const also = isDefault === true ? ` Also: \`angelia ${group}\`.` : '';
  return [
    `### ${name}\n`,
    `\`${usageOf(command)}\`\n`,
    `${sentence(summary)}${also}${description === undefined ? '' : ` ${description}`}\n`,
    ...(args.length === 0 ? [] : [args.map((arg) => `- \`<${arg.name}>\`: ${arg.summary}`).join('\n'), '']),
    ...(Object.keys(options).length === 0 ? [] : [optionList(options), '']),
    '```sh',
    ...examples.map(({ command: line, does }) => `# ${does}\n${line}`),
    '```\n',
  ].join('\n');
}

function optionList(options: Readonly<Record<string, Option>>): string {
  return Object.entries(options)
    .map(([name, option]) => {
      const values =
        option.values === undefined ? '' : `: ${option.values.map((value) => `\`${value}\``).join(', ')}`;
      return `- \`${optionText(name, option)}\`: ${option.summary}${values}`;
    })
    .join('\n');
}

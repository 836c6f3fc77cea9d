import { exitMeanings } from '../exit.ts';
import type { Style } from '../terminal/style.ts';
import { padEnd } from '../terminal/width.ts';
import type { Argument, Command, Option } from './command.ts';
import { globalOptions } from './global-options.ts';

const INDENT = '  ';
/** Longer lines are hard to read, even on a wide screen. */
const WIDTH = 100;

/** `angelia help`: one line for each command. */
export function overview(commands: readonly Command[], style: Style): string {
  return [
    'Angelia receives webhooks, runs agents on them and delivers the answers.',
    '',
    `${style('bold', 'Usage')}  angelia <command> [arguments] [options]`,
    '',
    style('bold', 'Commands'),
    rows(commands.map(({ name, summary }) => [name, summary])),
    '',
    style('bold', 'Options of every command'),
    optionRows(globalOptions),
    '',
    style('bold', 'Exit codes'),
    rows(exitMeanings.map(([code, , meaning]) => [String(code), meaning.replaceAll('`', '')])),
    '',
    '`angelia help <command>` shows examples. docs/cli.md lists everything.',
  ].join('\n');
}

/** `angelia routes --help`: the commands of the group. */
export function groupHelp(group: string, members: readonly Command[], style: Style): string {
  return [
    `${style('bold', 'Usage')}  angelia ${group} <command>`,
    '',
    style('bold', 'Commands'),
    rows(
      members.map(({ name, summary, isDefault }) => [
        name,
        `${summary}${isDefault === true ? ` (also: angelia ${group})` : ''}`,
      ]),
    ),
    '',
    `\`angelia help ${members[0]?.name ?? group}\` shows its options and examples.`,
  ].join('\n');
}

export function commandHelp(command: Command, style: Style): string {
  const { summary, description, arguments: args = [], options = {}, examples } = command;
  const parts = [`${style('bold', 'Usage')}  ${usageOf(command)}`, '', sentence(summary)];
  if (description !== undefined) parts.push('', wrapped(description, WIDTH).join('\n'));
  if (args.length > 0) {
    parts.push('', style('bold', 'Arguments'), rows(args.map((arg) => [argumentText(arg), arg.summary])));
  }
  if (Object.keys(options).length > 0) parts.push('', style('bold', 'Options'), optionRows(options));
  parts.push('', style('bold', 'Options of every command'), optionRows(globalOptions));
  parts.push('', style('bold', 'Examples'));
  for (const { command: line, does } of examples) {
    parts.push(`${INDENT}${style('dim', `# ${does}`)}`, `${INDENT}${line}`);
  }
  return parts.join('\n');
}

export function usageOf({ name, arguments: args = [], options = {} }: Command): string {
  return [
    'angelia',
    name,
    ...args.map(argumentText),
    ...(Object.keys(options).length > 0 ? ['[options]'] : []),
  ].join(' ');
}

export function optionText(name: string, { value, short }: Option): string {
  return `${short === undefined ? '' : `-${short}, `}--${name}${value === undefined ? '' : ` <${value}>`}`;
}

function argumentText({ name, optional, many }: Argument): string {
  const text = `<${name}>${many === true ? '...' : ''}`;
  return optional === true ? `[${text}]` : text;
}

function optionRows(options: Readonly<Record<string, Option>>): string {
  return rows(
    Object.entries(options).map(([name, option]) => [
      optionText(name, option),
      `${option.summary}${option.values === undefined ? '' : `: ${option.values.join(', ')}`}`,
    ]),
  );
}

function rows(pairs: readonly (readonly [string, string])[]): string {
  const room = Math.max(...pairs.map(([left]) => left.length));
  return pairs
    .flatMap(([left, right]) =>
      wrapped(right, WIDTH - room - 4).map(
        (line, index) => `${INDENT}${padEnd(index === 0 ? left : '', room)}${INDENT}${line}`,
      ),
    )
    .join('\n');
}

export function sentence(text: string): string {
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}.`;
}

export function wrapped(text: string, width: number): string[] {
  const lines: string[] = [];
  let line = '';
  for (const word of text.split(/\s+/)) {
    if (line !== '' && line.length + word.length + 1 > width) {
      lines.push(line);
      line = '';
    }
    line = line === '' ? word : `${line} ${word}`;
  }
  return [...lines, line];
}

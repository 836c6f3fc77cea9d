import type { CliError } from '../exit.ts';
import type { Runtime } from '../runtime.ts';
import { jsonText } from './control-characters.ts';
import { type Style, styleFor, wantsColour } from './style.ts';

/** How a command prints. No command writes to a stream itself, so that `--json` works everywhere. */
export interface Output {
  readonly json: boolean;
  /** `-o wide`: tables have all their columns. */
  readonly wide: boolean;
  readonly style: Style;
  /** Columns of the terminal. Without a terminal, or with `-o wide`, nothing is cut. */
  readonly width: number;
  /** Lines of the terminal, for commands that redraw the screen. */
  readonly height: number;
  readonly isTerminal: boolean;
  /** Prints the answer: one JSON document, or the text from `human`. */
  answer(value: unknown, human: () => string): void;
  /** Prints one of several answers: a line of JSON, or a line of text. */
  item(value: unknown, human: () => string): void;
  /** Prints a hint for a person on stderr. Does nothing with `--json`. */
  note(text: string): void;
  /** Prints an error on stderr: text for a person, or with `--json` a line for a program. */
  failure(error: CliError): void;
  /** Prints the text unchanged, without a newline. Does nothing with `--json`. */
  raw(text: string): void;
}

/** For a terminal that does not report its size. Every terminal can show this. */
const USUAL_WIDTH = 80;
const USUAL_HEIGHT = 24;

export type Format = 'json' | 'table' | 'wide';

export function outputFor(runtime: Runtime, format: Format): Output {
  const json = format === 'json';
  const { stdout, stderr, env } = runtime;
  const isTerminal = stdout.isTTY === true;
  const write = (text: string): void => {
    if (text !== '') stdout.write(`${text}\n`);
  };
  return {
    json,
    wide: format === 'wide',
    style: styleFor(!json && wantsColour(env, stdout)),
    width: isTerminal && format !== 'wide' ? stdout.columns || USUAL_WIDTH : Number.POSITIVE_INFINITY,
    height: stdout.rows || USUAL_HEIGHT,
    isTerminal,
    answer: (value, human) => write(json ? jsonText(value, 2) : human()),
    item: (value, human) => write(json ? jsonText(value) : human()),
    note: (text) => {
      if (!json) stderr.write(`${styleFor(wantsColour(env, stderr))('dim', text)}\n`);
    },
    failure: (error) => {
      stderr.write(`${failureText(error, runtime, json)}\n`);
    },
    raw: (text) => {
      if (!json) stdout.write(text);
    },
  };
}

function failureText(error: CliError, runtime: Runtime, json: boolean): string {
  const { message, code, exitCode, whatToDo } = error;
  if (json) {
    return jsonText({
      error: message,
      code,
      exit_code: exitCode,
      ...(whatToDo === null ? {} : { advice: whatToDo }),
    });
  }
  const style = styleFor(wantsColour(runtime.env, runtime.stderr));
  return `${style('bad', 'angelia:')} ${message}${whatToDo === null ? '' : `\n${style('dim', `  ${whatToDo}`)}`}`;
}

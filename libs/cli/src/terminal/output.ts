import type { CliError } from '../exit.ts';
import type { Runtime } from '../runtime.ts';
import { jsonText } from './control-characters.ts';
import { type Style, styleFor, wantsColour } from './style.ts';

/** What a command says. It never writes to a stream itself, so that `--json` holds everywhere. */
export interface Output {
  readonly json: boolean;
  readonly style: Style;
  /** Of the terminal; without one, nothing is cut. */
  readonly width: number;
  /** Lines of the terminal, for what is drawn over and over. */
  readonly height: number;
  readonly isTerminal: boolean;
  /** The answer: one JSON document, or what `human` makes of it. */
  answer(value: unknown, human: () => string): void;
  /** One of many that come one after the other: a line of JSON, or a line of text. */
  item(value: unknown, human: () => string): void;
  /** For a person, beside the answer: on stderr, and not with `--json`. */
  note(text: string): void;
  /** What went wrong, on stderr: the line that a person or, with `--json`, a program reads. */
  failure(error: CliError): void;
  /** Not with `--json`: as it is, without a newline of its own. */
  raw(text: string): void;
}

/** A terminal that does not say (a pipe made one up): what all can show. */
const USUAL_WIDTH = 80;
const USUAL_HEIGHT = 24;

export function outputFor(runtime: Runtime, json: boolean): Output {
  const { stdout, stderr, env } = runtime;
  const isTerminal = stdout.isTTY === true;
  const write = (text: string): void => {
    if (text !== '') stdout.write(`${text}\n`);
  };
  return {
    json,
    style: styleFor(!json && wantsColour(env, stdout)),
    width: isTerminal ? stdout.columns || USUAL_WIDTH : Number.POSITIVE_INFINITY,
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

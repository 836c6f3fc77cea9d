import { Malformed, type PlatformAnswer } from './stand-in.ts';

interface TelegramButton {
  readonly text: string;
  readonly callback_data: string;
}

export type TelegramButtons = readonly (readonly TelegramButton[])[];

const MOST_BUTTONS = 100;
const MOST_DATA_BYTES = 64;

/** Checks an InlineKeyboardMarkup with callback buttons (https://core.telegram.org/bots/api#inlinekeyboardmarkup). */
export function readKeyboard(
  markup: unknown,
  badRequest: (words: string) => PlatformAnswer,
): TelegramButtons {
  if (markup === undefined) return [];
  const refuse = (problem: string, words: string): never => {
    throw new Malformed(`reply_markup: ${problem}`, badRequest(words));
  };
  const { inline_keyboard: rows, ...others } = Object(markup) as { inline_keyboard?: unknown };
  if (!Array.isArray(rows) || Object.keys(others).length > 0)
    return refuse('no InlineKeyboardMarkup', 'object expected as reply markup');
  const buttons = rows.flatMap((row: unknown) =>
    Array.isArray(row) ? row : refuse('a row is no array', 'inline keyboard row must be an Array'),
  );
  if (buttons.length > MOST_BUTTONS) refuse('too many buttons', 'reply markup is too long');
  for (const button of buttons) {
    const { text, callback_data: data, ...unknown } = Object(button) as Record<string, unknown>;
    if (typeof text !== 'string' || text.trim() === '' || !text.isWellFormed())
      refuse('a button without a text', 'text buttons are unallowed in the inline keyboard');
    if (typeof data !== 'string' || data === '' || Buffer.byteLength(data) > MOST_DATA_BYTES)
      refuse('data of a button', 'BUTTON_DATA_INVALID');
    const [first] = Object.keys(unknown);
    if (first !== undefined) refuse(`unknown ${first}`, "can't parse inline keyboard button");
  }
  return rows as TelegramButtons;
}

import type { PlatformCall, PlatformSettings } from '../platform.ts';

/** Telegram refused the call. Its words hold no secret; the address of the call, which has the token, is never in a message. */
export class TelegramRefused extends Error {
  override readonly name = 'TelegramRefused';
  readonly status: number;
  readonly retryAfterSeconds: number | null;

  constructor(method: string, status: number, words: string, retryAfterSeconds: number | null) {
    super(`Telegram refused ${method}: ${status} ${words}`);
    this.status = status;
    this.retryAfterSeconds = retryAfterSeconds;
  }
}

/** An answer to getUpdates has up to 100 updates of some kilobytes each. */
const LARGEST_ANSWER = 16 * 1024 * 1024;
const CALL_MS = 30_000;

/** One call of the Bot API, by the bot of `targets.telegram`. @throws TelegramRefused, or an error of the connection */
export async function callTelegram<Result>(
  method: string,
  body: Readonly<Record<string, unknown>>,
  { settings, signal }: PlatformCall,
  timeoutMs = CALL_MS,
): Promise<Result> {
  const { api_base: base, bot_token: token } = settings.target;
  const path = encodeURIComponent(String(token)).replaceAll('%3A', ':');
  const limit = AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]);
  let response: Response;
  let text: string;
  try {
    response = await fetch(`${String(base)}/bot${path}/${method}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
      redirect: 'error',
      signal: limit,
    });
    text = await readAtMost(response, LARGEST_ANSWER);
  } catch (error) {
    const { code } = ((error as { cause?: unknown }).cause ?? {}) as { code?: string };
    const why = limit.aborted ? 'no answer in time' : (code ?? (error as Error).name);
    throw new Error(`Telegram could not be asked (${method}): ${why}`);
  }
  const answer = parsed(text);
  if (response.ok && answer.ok === true) return answer.result as Result;
  const { retry_after: seconds } = (answer.parameters ?? {}) as { retry_after?: unknown };
  throw new TelegramRefused(
    method,
    response.status,
    typeof answer.description === 'string' ? answer.description.slice(0, 300) : 'without a reason',
    typeof seconds === 'number' ? seconds : null,
  );
}

/** A file of a message: its path is asked for first. @throws TelegramRefused, or an error without the address, which has the token */
export async function downloadFromTelegram(
  fileId: string,
  mostBytes: number,
  context: PlatformCall,
): Promise<Uint8Array> {
  const found = await callTelegram<{ readonly file_path?: unknown; readonly file_size?: unknown }>(
    'getFile',
    { file_id: fileId },
    context,
  );
  if (
    typeof found.file_path !== 'string' ||
    !/^[\w./-]{1,500}$/.test(found.file_path) ||
    found.file_path.includes('..')
  )
    throw new Error('Telegram gave no path of the file');
  if (typeof found.file_size === 'number' && found.file_size > mostBytes)
    throw new Error(`the file has more than ${mostBytes} bytes`);
  const { api_base: base, bot_token: token } = context.settings.target;
  const path = encodeURIComponent(String(token)).replaceAll('%3A', ':');
  try {
    const response = await fetch(`${String(base)}/file/bot${path}/${found.file_path}`, {
      redirect: 'error',
      signal: AbortSignal.any([context.signal, AbortSignal.timeout(CALL_MS)]),
    });
    if (!response.ok) throw new Error(`status ${response.status}`);
    return await bytesAtMost(response, mostBytes);
  } catch (error) {
    throw new Error(`a file could not be fetched from Telegram: ${(error as Error).name}`);
  }
}

async function readAtMost(response: Response, most: number): Promise<string> {
  return Buffer.from(await bytesAtMost(response, most)).toString('utf8');
}

/** Reads no further than that. */
async function bytesAtMost(response: Response, most: number): Promise<Uint8Array> {
  const parts: Uint8Array[] = [];
  let bytes = 0;
  for await (const part of response.body ?? []) {
    bytes += part.length;
    if (bytes > most) throw new Error('the answer is too long');
    parts.push(part);
  }
  return Buffer.concat(parts);
}

function parsed(text: string): Readonly<Record<string, unknown>> {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
  } catch {
    return {};
  }
}

/** The number before the colon of a token is the bot's id. It is no secret: everybody in a chat sees it. */
export function botId({ target }: PlatformSettings): string {
  return /^(\d+):/.exec(String(target.bot_token))?.[1] ?? 'bot';
}

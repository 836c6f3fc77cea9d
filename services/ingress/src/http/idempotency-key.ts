import { Refusal } from './refusal.ts';

/** How long a repeated POST is recognised by its key. Clients retry for minutes; a day covers a stopped queue. */
const KEY_SECONDS = 86_400;
/** Visible ASCII, as in the draft of the header. Most clients send a uuid. */
const IDEMPOTENCY_KEY = /^[\x21-\x7e](?:[\x20-\x7e]{0,198}[\x21-\x7e])?$/;

/** The key of an append, from the header `Idempotency-Key`. @throws Refusal 400 */
export function idempotencyKey(
  about: string,
  header: string | undefined,
): { readonly key: string; readonly keepSeconds: number } | undefined {
  if (header === undefined) return undefined;
  if (!IDEMPOTENCY_KEY.test(header)) {
    throw new Refusal(
      400,
      'bad_idempotency_key',
      'header `Idempotency-Key`: give 1 to 200 visible ASCII characters, for example a uuid',
    );
  }
  return { key: `${about}:${header}`, keepSeconds: KEY_SECONDS };
}

import { isQuoted } from '../first-line.ts';

/**
 * What the person wrote, without what their mail program put below it: the mail that they reply to, and the signature. It need
 * not be perfect: what is left over is read by the agent, which knows the earlier messages anyway.
 */
export function replyText(whole: string): string {
  const lines = whole.replaceAll(/\r\n?/g, '\n').split('\n');
  const end = lines.findIndex((_, index) => beginsOriginal(lines, index));
  const own = (end === -1 ? lines : lines.slice(0, end)).filter(
    (line, index, all) => !isQuoted(line) && !introduces(all, index),
  );
  const signature = own.findIndex((line) => /^-- ?$/.test(line));
  return (signature === -1 ? own : own.slice(0, signature))
    .join('\n')
    .replace(
      /\n\s*(?:Sent from|Get Outlook for|Von meinem|Gesendet von|Envoyé de|Enviado desde) [^\n]{1,60}\s*$/i,
      '',
    )
    .replaceAll(/\n{3,}/g, '\n\n')
    .trim();
}

const DASHED =
  /^\s*-{2,}\s*(?:original message|original appointment|ursprüngliche nachricht|message d'origine|mensaje original|messaggio originale|oorspronkelijk bericht)\s*-{2,}\s*$/i;
const SENDER_LINE = /^\s*\*?(?:From|Von|De|Da|Van)\s*:\*?\s\S/i;
const OTHER_LINE =
  /^\s*\*?(?:Sent|Date|To|Subject|Gesendet|Datum|An|Betreff|Envoyé|Objet|À|Enviado|Para|Asunto|Inviato|Oggetto|A|Verzonden|Aan|Onderwerp)\s*:\*?\s/i;
/** So many lines after the first one belong to the block of headers that Outlook writes. */
const BLOCK = 5;

/** A line after which everything is the original: Outlook does not quote it. */
function beginsOriginal(lines: readonly string[], index: number): boolean {
  const line = lines[index] ?? '';
  if (DASHED.test(line)) return true;
  if (!SENDER_LINE.test(line)) return false;
  const next = lines.slice(index + 1, index + 1 + BLOCK).filter((one) => OTHER_LINE.test(one));
  return next.length >= 2;
}

const WROTE =
  /^(?:On|Am|Le|El|Il|Op|Den|Em)\s.{4,300}(?:wrote|schrieb.{0,80}|a écrit|escribió|ha scritto|schreef.{0,80}|skrev.{0,80}|escreveu)\s?:$/i;
/** `On <date>, <name> <address> wrote:` is often broken over this many lines. */
const WRAPPED = 3;

/** Whether the line belongs to the sentence that introduces a quotation. */
function introduces(lines: readonly string[], index: number): boolean {
  for (let start = Math.max(0, index - WRAPPED + 1); start <= index; start += 1) {
    for (let count = index - start + 1; count <= WRAPPED; count += 1) {
      const sentence = lines.slice(start, start + count).map((line) => line.trim());
      if (!WROTE.test(sentence.join(' '))) continue;
      const after = lines.slice(start + count).find((line) => line.trim() !== '');
      if (after === undefined || isQuoted(after)) return true;
    }
  }
  return false;
}

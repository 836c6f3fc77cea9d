import { createHash } from 'node:crypto';
import { nestsTooDeep } from './nesting.ts';

/**
 * Several models may have written a transcript, and one provider may refuse what another wrote, for ever, since a
 * transcript never changes. So whatever providers are known to refuse is made acceptable here, the same way every time.
 */

/** Anthropic and others refuse a text that is empty or only white space (D3: an empty answer is kept). */
export const NOTHING_ASKED = '(no text)';
export const NOTHING_SAID = '(no answer)';

export function filled(text: string, otherwise: string): string {
  return isBlank(text) ? otherwise : text;
}

export const isBlank = (text: string): boolean => text.trim() === '';

/** Anthropic: `^[a-zA-Z0-9_-]+$`; OpenAI: at most 40 characters. Some servers write `functions.terminal:0`. */
export function acceptableId(id: string): string {
  if (/^[a-zA-Z0-9_-]{1,40}$/.test(id)) return id;
  return `call_${createHash('sha256').update(id).digest('hex').slice(0, 24)}`;
}

/** A model may invent any tool name; providers accept `^[a-zA-Z0-9_-]{1,64}$`. */
export function acceptableName(name: string): string {
  return name.replaceAll(/[^a-zA-Z0-9_-]/g, '_').slice(0, 64) || 'unknown';
}

/**
 * The arguments of a call must be an object. If the model wrote something else, it has read the error; its text is kept
 * so that it can see its mistake.
 */
export function acceptableArguments(text: string): Record<string, unknown> {
  try {
    const parsed: unknown = JSON.parse(text);
    if (typeof parsed === 'object' && parsed !== null && !Array.isArray(parsed) && !nestsTooDeep(parsed)) {
      return parsed as Record<string, unknown>;
    }
  } catch {
    // Not JSON: handled below.
  }
  return { invalid_arguments: text };
}

import { writePlain } from './lines.ts';
import type { Markup } from './markup.ts';

/** For platforms that show text as it is. */
export const plainText: Markup = { block: (block) => writePlain(block, (text) => text) };

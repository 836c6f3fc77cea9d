import { writePlain } from './markup/line-layout.ts';
import type { Markup } from './markup/markup.ts';

/** For platforms that show text as it is. */
export const plainText: Markup = { block: (block) => writePlain(block, (text) => text) };

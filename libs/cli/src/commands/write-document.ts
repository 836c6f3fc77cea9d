import { writeFileSync } from 'node:fs';
import { cliDocument } from '../document.ts';
import { commands } from './table.ts';

/** Writes docs/cli.md. */
writeFileSync(new URL('../../../../docs/cli.md', import.meta.url), cliDocument(commands));

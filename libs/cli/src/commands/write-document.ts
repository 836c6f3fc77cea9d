import { writeFileSync } from 'node:fs';
import { cliDocument } from '../command-line/document.ts';
import { commands } from './all-commands.ts';

/** Writes docs/cli.md. */
writeFileSync(new URL('../../../../docs/cli.md', import.meta.url), cliDocument(commands));

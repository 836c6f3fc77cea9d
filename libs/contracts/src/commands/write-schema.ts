import { writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { configSchemaText } from '../config/config.ts';

/**
 * Writes libs/contracts/angelia.schema.json, with which editors check a config file:
 * `node libs/contracts/src/commands/write-schema.ts`. A unit test fails while the file is out of date.
 */
const path = fileURLToPath(new URL('../../angelia.schema.json', import.meta.url));
writeFileSync(path, configSchemaText());
process.stdout.write(`wrote ${path}\n`);

import { writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { configSchemaText } from '../config-schema-text.ts';

/**
 * Writes libs/contracts/angelia.schema.json, which editors use while one types a config:
 * `node libs/contracts/src/commands/write-schema.ts`. A unit test fails while it is out of date.
 */
const path = fileURLToPath(new URL('../../angelia.schema.json', import.meta.url));
writeFileSync(path, configSchemaText());
process.stdout.write(`wrote ${path}\n`);

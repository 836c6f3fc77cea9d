import { writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { clientTypes } from '@angelia/console/client-types';
import { openApiDocument } from './document.ts';

/**
 * Writes libs/console/src/api/schema.ts, the types of the console's API client:
 * `node services/ingress/src/api/openapi/write-console-client.ts`. A unit test fails while the file is out of date.
 */
const path = fileURLToPath(new URL('../../../../../libs/console/src/api/schema.ts', import.meta.url));
writeFileSync(path, await clientTypes(openApiDocument()));
process.stdout.write(`wrote ${path}\n`);

import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { clientTypes } from '@angelia/console/client-types';
import { expect, it } from '@jest/globals';
import { openApiDocument } from './document.ts';

const path = fileURLToPath(new URL('../../../../../libs/console/src/api/schema.ts', import.meta.url));

it("the console's client knows the API as it is (if not: run write-console-client.ts)", async () => {
  expect(readFileSync(path, 'utf8')).toBe(await clientTypes(openApiDocument()));
});

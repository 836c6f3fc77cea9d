import { readFileSync } from 'node:fs';

/** Of this package: src/ and dist/ are equally deep in it. */
const { version } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8')) as {
  version: string;
};

export const VERSION = version;

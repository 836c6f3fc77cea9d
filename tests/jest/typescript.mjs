// Lets a jest worker import our TypeScript. Node can strip types by itself, but not compile the decorators that Nest wants.
// Compiled files are kept by content in .cache/test-sources. V8's compiled code is kept, too (jest.config.mjs).

import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { createRequire, registerHooks } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = dirname(dirname(dirname(fileURLToPath(import.meta.url))));
const cache = join(root, '.cache', 'test-sources');
const require = createRequire(import.meta.url);

const mapFiles = new Map();

/** Source maps for the stacks of errors. Jest asks by the URL of a module. */
export const sourceMaps = {
  get: (url) => mapFiles.get(url.startsWith('file:') ? fileURLToPath(url.replace(/\?.*$/, '')) : url),
};

const OPTIONS = {
  swcrc: false,
  configFile: false,
  sourceMaps: true,
  module: { type: 'es6' },
  jsc: {
    target: 'es2023',
    parser: { syntax: 'typescript', decorators: true },
    transform: { legacyDecorator: true },
    keepClassNames: true,
    experimental: { keepImportAttributes: true },
  },
};
/** A change of the compiler or its options creates new files. */
const RECIPE = JSON.stringify([require('@swc/core/package.json').version, OPTIONS]);

mkdirSync(cache, { recursive: true });

registerHooks({
  resolve(specifier, context, next) {
    if (specifier === '@jest/globals')
      return { url: new URL('globals.mjs', import.meta.url).href, shortCircuit: true };
    return next(specifier, context);
  },
  load(url, context, next) {
    if (!url.startsWith('file:') || !/\.ts(\?|$)/.test(url) || url.includes('/node_modules/'))
      return next(url, context);
    return { format: 'module', source: compiled(fileURLToPath(url)), shortCircuit: true };
  },
});

function compiled(path) {
  const source = readFileSync(path, 'utf8');
  const name = join(cache, createHash('sha1').update(RECIPE).update(path).update(source).digest('hex'));
  mapFiles.set(path, `${name}.map`);
  if (existsSync(`${name}.js`)) return readFileSync(`${name}.js`, 'utf8');
  const { code, map } = require('@swc/core').transformSync(source, { ...OPTIONS, filename: path });
  keep(`${name}.map`, map);
  keep(`${name}.js`, code);
  return code;
}

/** Writes atomically, because other workers read the file. */
function keep(path, text) {
  writeFileSync(`${path}.${process.pid}`, text);
  renameSync(`${path}.${process.pid}`, path);
}

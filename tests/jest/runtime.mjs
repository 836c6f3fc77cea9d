// Runs a test file as Node runs any other file, instead of with Jest's own runtime. Jest gives every file a new global object,
// so it links and evaluates every module, also Nest and zod, again for every file: 0.3 to 1.7 s of CPU for each of about 270
// files. Here a worker loads a module once (docs/adr/0014-native-test-runtime.md).
//
// The price: test files of one worker share modules and globals, like the parts of any program. Module mocks (`jest.mock`) do
// not exist. Changes to `process.env` are undone after each file (environment.mjs).

import { createRequire } from 'node:module';
import { pathToFileURL } from 'node:url';
import { setTestGlobals } from './current.mjs';
import { sourceMaps } from './typescript.mjs';

const require = createRequire(import.meta.url);
let files = 0;

export default class NativeRuntime {
  #environment;

  constructor(_config, environment) {
    this.#environment = environment;
  }

  unstable_shouldLoadAsEsm() {
    return true;
  }

  /** With a unique query, so that `--watch` runs the file again. */
  async unstable_importModule(path) {
    files += 1;
    await import(`${pathToFileURL(path).href}?run=${files}`);
  }

  /** The test framework. It keeps the state of a file in its module and on `globalThis`, so each file gets a new one. */
  requireInternalModule(path) {
    const resolved = require.resolve(path);
    delete require.cache[resolved];
    delete globalThis[Symbol.for('EVENT_HANDLERS')];
    return require(resolved);
  }

  requireModule(path) {
    return require(path);
  }

  setGlobalsForRuntime(globals) {
    setTestGlobals({ ...globals, jest: this.#environment.jest });
  }

  getSourceMaps() {
    return sourceMaps;
  }

  enterTestCode() {}
  leaveTestCode() {}
  teardown() {}
  getAllCoverageInfoCopy() {}
}

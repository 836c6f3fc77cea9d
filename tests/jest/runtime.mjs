// Runs a test file as Node itself runs any other file, in place of jest's own runtime. That one gives every file a global
// object of its own and so links and evaluates every module, Nest and zod included, again for every file: 0.3 to 1.7 s of
// CPU for each of some 270 files. Here a worker loads a module once (docs/adr/0014-native-test-runtime.md).
//
// What that costs: test files of one worker share modules and globals, as do the parts of any program. Module mocks
// (`jest.mock`) do not exist. What a test changes in `process.env` is undone after each file (environment.mjs).

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

  /** With a query of its own, so that `--watch` runs the file again. */
  async unstable_importModule(path) {
    files += 1;
    await import(`${pathToFileURL(path).href}?run=${files}`);
  }

  /** The test framework. It keeps what it knows of a file in its module and on `globalThis`: a new one for each file. */
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

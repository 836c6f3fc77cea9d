// Replaces `@jest/globals` in tests (typescript.mjs). A worker runs many files and loads this once, so each name calls the
// framework's function for the file that runs now.

import { testGlobal } from './current.mjs';

const live = (name) =>
  new Proxy(() => {}, {
    apply: (_target, self, args) => Reflect.apply(testGlobal(name), self, args),
    get: (_target, key) => testGlobal(name)[key],
  });

export const afterAll = live('afterAll');
export const afterEach = live('afterEach');
export const beforeAll = live('beforeAll');
export const beforeEach = live('beforeEach');
export const describe = live('describe');
export const expect = live('expect');
export const it = live('it');
export const jest = live('jest');
export const test = live('test');

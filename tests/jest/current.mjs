// The framework's functions for the test file that runs now.

let current = {};

export function setTestGlobals(globals) {
  current = globals;
}

export const testGlobal = (name) => current[name];

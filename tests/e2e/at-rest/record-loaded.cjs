// Preloaded into the services (NODE_OPTIONS). At SIGUSR2 it writes what the process has loaded so far, one name in a line.
const { renameSync, writeFileSync } = require('node:fs');
const { registerHooks } = require('node:module');
const { basename, join } = require('node:path');

const modules = [];
registerHooks({
  load(url, context, next) {
    modules.push(url);
    return next(url, context);
  },
});
process.on('SIGUSR2', () => {
  const builtins = process.moduleLoadList
    .filter((name) => name.startsWith('NativeModule '))
    .map((name) => name.replace('NativeModule ', 'node:'));
  const file = join(process.env.ANGELIA_TEST_LOADED, basename(process.argv[1]));
  writeFileSync(`${file}.new`, [...modules, ...builtins].join('\n'));
  renameSync(`${file}.new`, file);
});

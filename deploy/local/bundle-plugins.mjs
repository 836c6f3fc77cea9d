// What the build (build.mjs) does to modules before esbuild bundles them.

import { existsSync, readFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname, join, relative } from 'node:path';

/** `libs/event-log/src/sql/001.sql` becomes `libs/event-log/sql/001.sql` in dist/. */
export const inDist = (file) => file.replace('/src/', '/').replace(/\.ts$/, '.js');

/**
 * Lets a module that reads a file beside its source find the copy in dist/: its `import.meta.url` becomes that of a file
 * beside the copy. All outputs are directly in dist/. The `import.meta.url` of a program's own source stays its output.
 */
export function assetsBesideSource(root, entries) {
  return {
    name: 'assets-beside-source',
    setup(builder) {
      builder.onLoad({ filter: /\/src\/.*\.ts$/ }, async ({ path }) => {
        const file = relative(root, path);
        if (file.includes('node_modules/') || Object.values(entries).includes(file)) return undefined;
        const code = await readFile(path, 'utf8');
        if (!code.includes('import.meta.url')) return undefined;
        const place = JSON.stringify(`./${inDist(file)}`);
        return {
          contents: code.replaceAll('import.meta.url', `new URL(${place}, import.meta.url).href`),
          loader: 'ts',
        };
      });
    },
  };
}

/**
 * Gives `await import('undici')` of a CommonJS package its exports by name, as in Node. esbuild alone only gives it a
 * `default`, which nobody notices before that line runs.
 */
export const namedExportsOfCommonJs = {
  name: 'named-exports-of-commonjs',
  setup(builder) {
    const namespace = 'commonjs-by-name';
    builder.onResolve({ filter: /^[@a-z]/ }, async ({ path, kind, resolveDir, importer, pluginData }) => {
      if (kind !== 'dynamic-import' || pluginData === namespace) return undefined;
      const options = { kind, resolveDir, importer, pluginData: namespace };
      const found = await builder.resolve(path, options);
      return found.errors.length > 0 || found.external || !isCommonJs(found.path)
        ? undefined
        : { path: found.path, namespace };
    });
    builder.onLoad({ filter: /.*/, namespace }, ({ path }) => {
      const names = Object.keys(createRequire(path)(path)).filter(
        (name) => name !== 'default' && /^[A-Za-z_$][\w$]*$/.test(name),
      );
      return {
        contents: `import all from ${JSON.stringify(path)};\nexport default all;\nexport const { ${names.join(', ')} } = all;\n`,
        resolveDir: dirname(path),
      };
    });
  },
};

/**
 * An ES module that imports node:http makes Node read all its exports, and three of them (WebSocket and its events) load
 * Node's own undici: 60 ms of CPU for a service that needs `createServer`. With getBuiltinModule it costs 5 ms. (For the
 * other builtins, copying their many names would cost more than it saves.)
 */
export const httpAlone = {
  name: 'http-alone',
  setup(builder) {
    const namespace = 'http-alone';
    builder.onResolve({ filter: /^(node:)?http$/ }, ({ kind }) =>
      kind === 'import-statement' ? { path: 'node:http', namespace } : undefined,
    );
    builder.onLoad({ filter: /.*/, namespace }, ({ path }) => ({
      contents: `module.exports = process.getBuiltinModule(${JSON.stringify(path)});`,
    }));
  },
};

/**
 * Loads these parts of Node when something of them is used: 7 MB that only a connection with TLS needs. The clients of NATS
 * and Postgres, Nest, Fastify and undici load them with their own code.
 */
export const tlsOnDemand = {
  name: 'tls-on-demand',
  setup(builder) {
    const required = 'required-on-demand';
    const imported = 'imported-on-demand';
    builder.onResolve({ filter: /^(node:)?(tls|https|http2)$/ }, ({ path, kind }) => {
      const name = path.replace(/^(node:)?/, 'node:');
      if (kind === 'require-call') return { path: name, namespace: required };
      return kind === 'import-statement' && name === 'node:tls'
        ? { path: name, namespace: imported }
        : undefined;
    });
    // The bundle itself asks a CommonJS module whether it is an ES module.
    const onDemand = (name) => `const load = () => process.getBuiltinModule(${JSON.stringify(name)});
      const onDemand = new Proxy({}, {
        get: (_, key) => (key === '__esModule' ? undefined : load()[key]),
        ownKeys: () => Reflect.ownKeys(load()),
        getOwnPropertyDescriptor: (_, key) => ({ value: load()[key], enumerable: true, configurable: true }),
      });\n`;
    builder.onLoad({ filter: /.*/, namespace: required }, ({ path }) => ({
      contents: `${onDemand(path)}module.exports = onDemand;`,
    }));
    // The build fails if a package imports another name.
    builder.onLoad({ filter: /.*/, namespace: imported }, ({ path }) => ({
      contents: `${onDemand(path)}
        export default onDemand;
        export const connect = (...args) => onDemand.connect(...args);
        export const createServer = (...args) => onDemand.createServer(...args);
        export const Server = { [Symbol.hasInstance]: (value) => value instanceof onDemand.Server };`,
    }));
  },
};

/**
 * Packages that offer Node their code as CommonJS, or more of it than anybody uses. As ES modules, only what is used gets
 * into the bundle.
 */
export const smallerPackages = {
  name: 'smaller-packages',
  setup(builder) {
    /** Fails if a newer version of the package no longer has what is replaced. */
    const replaceIn = (filter, replaced, replacement) =>
      builder.onLoad({ filter }, async ({ path }) => {
        const code = await readFile(path, 'utf8');
        if (code.search(replaced) < 0) throw new Error(`nothing in ${path} matches ${replaced}`);
        return { contents: code.replaceAll(replaced, replacement) };
      });
    builder.onResolve({ filter: /^rxjs(\/operators)?$/ }, async ({ path, resolveDir, kind, pluginData }) => {
      if (pluginData === 'smaller') return undefined;
      const found = await builder.resolve(path, { resolveDir, kind, pluginData: 'smaller' });
      return { path: found.path.replace('/dist/cjs/', '/dist/esm/'), sideEffects: false };
    });
    // All of undici is 1.4 MB of code. What is imported at the start needs its connections only, and the build fails if it
    // imports another name. `await import('undici')` gets everything.
    builder.onResolve({ filter: /^undici$/ }, async ({ path, kind, resolveDir, pluginData }) => {
      if (kind !== 'import-statement' || pluginData === 'smaller') return undefined;
      const found = await builder.resolve(path, { kind, resolveDir, pluginData: 'smaller' });
      return { path: join(dirname(found.path), 'connections-only'), namespace: 'undici' };
    });
    builder.onLoad({ filter: /.*/, namespace: 'undici' }, ({ path }) => ({
      contents: "export { default as Agent } from './lib/dispatcher/agent.js';",
      resolveDir: dirname(path),
    }));
    // Only a server that speaks HTTP/2 needs that part of undici, and node:http2 with it.
    replaceIn(
      /\/undici\/lib\/dispatcher\/client\.js$/,
      /const connectH2 = (require\([^)]*\))/g,
      'const connectH2 = (...args) => $1(...args)',
    );
    // Asked at every connection. The class is part of node:tls.
    replaceIn(
      /\/@nats-io\/transport-node\/lib\/node_transport\.js$/,
      /this\.socket instanceof \w+\.TLSSocket/g,
      'this.socket.encrypted === true',
    );
    // Nest's own logger, which we replace, formats times by the locale: 8 MB of ICU data.
    replaceIn(
      /\/@nestjs\/common\/services\/(console-)?logger\.service\.js$/,
      /new Intl\.DateTimeFormat\([^)]*\)/g,
      '{ format: (time) => new Date(time).toISOString() }',
    );
    // zod has fifty languages, and its namespace keeps them all.
    builder.onLoad({ filter: /\/zod\/v4\/locales\/index\.js$/ }, () => ({
      contents: "export { default as en } from './en.js';",
    }));
  },
};

function isCommonJs(path) {
  if (!path.endsWith('.js')) return path.endsWith('.cjs');
  for (let directory = dirname(path); directory !== dirname(directory); directory = dirname(directory)) {
    const manifest = join(directory, 'package.json');
    if (existsSync(manifest)) return JSON.parse(readFileSync(manifest, 'utf8')).type !== 'module';
  }
  return true;
}

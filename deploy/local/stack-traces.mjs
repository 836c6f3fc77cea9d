// Part of every program in dist/ (build.mjs): makes stack traces name the sources. It reads a bundle's map when a trace first
// needs it. Node's own --enable-source-maps reads all maps while the program loads: 0.1 s of CPU and 12 MB for every service,
// and hardly any service needs them.

import { readFileSync } from 'node:fs';
import { SourceMap } from 'node:module';
import { fileURLToPath } from 'node:url';

/** By the bundle's URL; null if there is no readable map. */
const maps = new Map();

Error.prepareStackTrace = (error, sites) =>
  [headline(error), ...sites.map(isEndOfConnection(error) ? String : placed)].join('\n    at ');

/**
 * undici ends a connection that nobody used for a while, or that the server closed, with an error that nobody sees. But
 * Node's streams read the trace of every error that they are destroyed with. To name its sources would read maps after each
 * load: 35 ms of CPU, and 15 MB that the process does not give back.
 */
function isEndOfConnection(error) {
  try {
    return error.code === 'UND_ERR_INFO' || error.code === 'UND_ERR_SOCKET';
  } catch {
    return false; // What is thrown need not be an error, and its fields may throw.
  }
}

function headline(error) {
  try {
    return Error.prototype.toString.call(error);
  } catch {
    return '<error>'; // What V8 prints if not even the name can be read.
  }
}

function placed(site) {
  const text = String(site);
  const url = site.getFileName();
  if (!url?.startsWith('file:')) return text;
  const [line, column] = [site.getLineNumber(), site.getColumnNumber()];
  const entry = mapOf(url)?.findEntry(line - 1, column - 1);
  if (entry?.originalSource === undefined) return text;
  const source = fileURLToPath(new URL(entry.originalSource, url));
  const place = `${source}:${entry.originalLine + 1}:${entry.originalColumn + 1}`;
  return text.replace(`${url}:${line}:${column}`, () => place);
}

function mapOf(url) {
  if (!maps.has(url)) maps.set(url, readMap(`${fileURLToPath(url)}.map`));
  return maps.get(url);
}

function readMap(path) {
  try {
    return new SourceMap(JSON.parse(readFileSync(path, 'utf8')));
  } catch {
    return null; // The trace then names the place in the bundle.
  }
}

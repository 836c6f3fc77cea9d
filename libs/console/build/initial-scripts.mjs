// Which scripts a browser loads before it can show anything, by Vite's manifest: the entry and what it imports, and so on.
// What is imported by `import()` comes later.

/**
 * @param {Record<string, { file: string, isEntry?: boolean, imports?: string[] }>} manifest
 * @returns {string[]}
 */
export function initialScripts(manifest) {
  const seen = new Set(Object.keys(manifest).filter((name) => manifest[name].isEntry));
  for (const name of seen) for (const imported of manifest[name].imports ?? []) seen.add(imported);
  return [...seen].map((name) => manifest[name].file).filter((file) => file.endsWith('.js'));
}

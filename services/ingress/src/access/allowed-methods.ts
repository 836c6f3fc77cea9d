import { operations } from '../api/openapi/document.ts';

/** The addresses of the document, each with its method. */
const addresses = operations.map(({ method, path }) => ({
  method: method.toUpperCase(),
  pattern: new RegExp(`^${path.replaceAll('.', '\\.').replace(/\{[^{}]+\}/g, '[^/]+')}$`),
}));

/** The methods that an address takes, for `Allow` of a 405. Empty: there is nothing at this address. */
export function allowedMethods(url: string): readonly string[] {
  const [path = ''] = url.split('?', 1);
  const methods = addresses.filter(({ pattern }) => pattern.test(path)).map(({ method }) => method);
  // Fastify answers HEAD wherever it answers GET.
  return [...new Set([...methods, ...(methods.includes('GET') ? ['HEAD'] : [])])].sort();
}

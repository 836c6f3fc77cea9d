// Makes the types of the API client from the OpenAPI document. ingress has the document, and calls this
// (services/ingress/src/api/openapi/write-console-client.ts). The generator is a dependency of this package alone, because it
// needs the compiler's API of TypeScript 5, and its peers would give ingress a second copy of Nest.

import openapiTypescript, { astToString } from 'openapi-typescript';

const HEADER = `// The calls of the API as types. Made from the OpenAPI document: do not edit it.
// After a change of the API: node services/ingress/src/api/openapi/write-console-client.ts

`;

/**
 * The text of src/api/schema.ts.
 * @param {object} document OpenAPI 3.1
 * @returns {Promise<string>}
 */
export async function clientTypes(document) {
  // The generator changes what it is given.
  return HEADER + astToString(await openapiTypescript(structuredClone(document), { alphabetize: true }));
}

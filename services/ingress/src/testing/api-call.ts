import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import { openApiDocument, operations } from '../api/openapi/document.ts';
import { ADMIN_TOKEN, type TestIngress } from './ingress.ts';

export interface ApiAnswer {
  readonly status: number;
  readonly headers: Headers;
  readonly body: Record<string, unknown>;
}

export interface ApiCall {
  readonly method?: string;
  readonly token?: string | null;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: unknown;
}

/** Calls the API as a client does. Every answer must match the OpenAPI document, to the last field. */
export async function apiCall(ingress: TestIngress, path: string, call: ApiCall = {}): Promise<ApiAnswer> {
  const method = call.method ?? 'GET';
  const token = call.token === undefined ? ADMIN_TOKEN : call.token;
  const response = await fetch(new URL(path, ingress.baseUrl), {
    method,
    headers: {
      ...(token === null ? {} : { authorization: `Bearer ${token}` }),
      ...(call.body === undefined ? {} : { 'content-type': 'application/json' }),
      ...call.headers,
    },
    ...(call.body === undefined
      ? {}
      : { body: typeof call.body === 'string' ? call.body : JSON.stringify(call.body) }),
  });
  const body = (await response.json()) as Record<string, unknown>;
  expectPromised(method, path, response.status, body);
  return { status: response.status, headers: response.headers, body };
}

/** @throws if the document has no such answer, or if the answer has other fields */
export function expectPromised(method: string, path: string, status: number, body: unknown): void {
  const pathname = path.split('?', 1)[0] ?? '';
  const operation = operations.find(
    (one) => one.method === method.toLowerCase() && pattern(one.path).test(pathname),
  );
  if (operation === undefined) throw new Error(`${method} ${path} is not in the document`);
  const validate = validators().get(`${operation.method} ${operation.path} ${status}`);
  if (validate === undefined) throw new Error(`${method} ${path}: the document has no answer ${status}`);
  if (!validate(body)) {
    throw new Error(
      `${method} ${path} ${status} is not as the document says: ${JSON.stringify(validate.errors)}\n${JSON.stringify(body)}`,
    );
  }
}

function pattern(path: string): RegExp {
  return new RegExp(`^${path.replaceAll('.', '\\.').replace(/\{[^}]+\}/g, '[^/]+')}$`);
}

interface Document {
  readonly paths: Record<
    string,
    Record<string, { responses: Record<string, { content?: Record<string, { schema?: object }> }> }>
  >;
}

let compiled: Map<string, ValidateFunction> | null = null;

function validators(): Map<string, ValidateFunction> {
  if (compiled !== null) return compiled;
  const document = openApiDocument();
  const ajv = new Ajv2020({ strict: false, allErrors: true });
  (addFormats as unknown as (ajv: Ajv2020) => void)(ajv);
  ajv.addSchema({ $id: 'openapi', ...(strictly(document) as object) });
  compiled = new Map();
  for (const [path, methods] of Object.entries((document as unknown as Document).paths)) {
    for (const [method, { responses }] of Object.entries(methods)) {
      for (const [status, { content }] of Object.entries(responses)) {
        const schema = content?.['application/json']?.schema as { $ref: string } | undefined;
        if (schema === undefined) continue;
        compiled.set(`${method} ${path} ${status}`, ajv.compile({ $ref: `openapi${schema.$ref}` }));
      }
    }
  }
  return compiled;
}

/** The document allows fields that a client does not know. A test must fail for a field that the document does not name. */
function strictly(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(strictly);
  if (typeof schema !== 'object' || schema === null) return schema;
  const closed = Object.fromEntries(Object.entries(schema).map(([key, value]) => [key, strictly(value)]));
  const isObject = closed.type === 'object' && closed.properties !== undefined;
  return isObject && closed.additionalProperties === undefined
    ? { ...closed, unevaluatedProperties: false }
    : closed;
}

import { z } from 'zod';

/**
 * The part of the OpenAPI document about one call. It is beside the controller that answers the call, and uses the same
 * zod schemas that parse the request. openapi.int.test.ts checks that calls and document agree.
 */
export interface Operation {
  readonly method: 'get' | 'post' | 'put' | 'delete' | 'options';
  /** `/v1/sessions/{id}` */
  readonly path: string;
  readonly summary: string;
  readonly description?: string;
  /** `admin`: the admin token, or the cookie of the console; `console`: the cookie; `signature`: as the route says; `open`: nothing. */
  readonly access: 'admin' | 'console' | 'signature' | 'open';
  /** Parameters of the path, each with its description. */
  readonly parameters?: Readonly<Record<string, string>>;
  readonly query?: z.ZodObject;
  /** Header -> its description; all are optional. */
  readonly headers?: Readonly<Record<string, string>>;
  /** A component, or null for any JSON or form. */
  readonly body?: z.ZodType | null;
  readonly bodyIsOptional?: boolean;
  /** The body may also be a form. */
  readonly formBody?: boolean;
  readonly answers: Readonly<Record<number, Answer>>;
  /** Statuses with an `{"error"}`, in addition to the 401, 403, 429 and 503 of `admin` and `console`. */
  readonly errors?: readonly number[];
  /** A client that does not ask for JSON gets every answer as a page. */
  readonly pages?: boolean;
}

export interface Answer {
  readonly description: string;
  readonly schema: z.ZodType | null;
  readonly contentType: string;
}

/** The names of schemas under `components`. */
export const components = z.registry<{ id: string }>();

export function component<T extends z.ZodType>(name: string, schema: T): T {
  components.add(schema, { id: name });
  return schema;
}

export function operation(described: Operation): Operation {
  return described;
}

export function answer(description: string, schema: z.ZodType | null = null): Answer {
  return { description, schema, contentType: 'application/json' };
}

export const errorBody = component(
  'Error',
  z.object({
    error: z.string().describe('what is wrong, where, and what to do'),
    code: z
      .string()
      .optional()
      .describe('stable; where a program has to tell errors of the same status apart'),
  }),
);

export const htmlPage = component('HtmlPage', z.string());

/** A page of a list. */
export function pageOf<T extends z.ZodType>(name: string, item: T) {
  return component(name, pageFields(item));
}

export function pageFields<T extends z.ZodType>(item: T) {
  return z.object({
    items: z.array(item),
    next_cursor: z
      .string()
      .nullable()
      .describe('pass it as `cursor` to get the next page; null on the last page'),
  });
}

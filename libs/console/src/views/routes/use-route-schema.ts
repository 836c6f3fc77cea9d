import { useQuery } from '@tanstack/react-query';
import { api, ask } from '../../api/client.ts';
import type { JsonSchema, JsonSchemas } from '../../parts/json-schema/json-schema.ts';

interface RouteSchema {
  readonly schema: JsonSchema;
  readonly schemas: JsonSchemas;
}

/** The JSON Schema of a route, from the OpenAPI document of the gateway that answers. Loaded when a route is opened. */
export function useRouteSchema() {
  return useQuery({
    queryKey: ['openapi', 'RouteDefinition'],
    queryFn: async (): Promise<RouteSchema> => {
      const document = (await ask(api.GET('/openapi.json'))) as { components?: { schemas?: JsonSchemas } };
      const schemas = document.components?.schemas ?? {};
      return { schemas, schema: schemas.RouteDefinition ?? {} };
    },
    // It changes with the version of the gateway only.
    staleTime: Number.POSITIVE_INFINITY,
  });
}

import { api, ask, type Schema } from '../client.ts';

export type Route = Schema['Route'];
export type RoutePreview = Schema['RoutePreview'];
export type TestWebhook = Schema['TestWebhook'];
export type Settings = Readonly<Record<string, unknown>>;
export type Headers = Readonly<Record<string, string>>;

const PAGE = 200;
const path = (name: string) => ({ path: { name } });
/** Refused with 412 if somebody changed the route since it was read. */
const ifMatch = (revision: number | null) => (revision === null ? {} : { 'If-Match': `"${revision}"` });

export const listRoutes = (cursor: string | null, signal: AbortSignal) =>
  ask(
    api.GET('/v1/routes', {
      params: { query: { traffic: 'true', limit: PAGE, ...(cursor === null ? {} : { cursor }) } },
      signal,
    }),
  );

export const getRoute = (name: string, signal: AbortSignal): Promise<Route> =>
  ask(api.GET('/v1/routes/{name}', { params: { ...path(name), query: { traffic: 'true' } }, signal }));

/** `revision`: of the route that is replaced; null: there must be no such route yet. */
export const putRoute = (name: string, settings: Settings, revision: number | null) =>
  ask(
    api.PUT('/v1/routes/{name}', {
      params: { ...path(name), header: revision === null ? { 'If-None-Match': '*' } : ifMatch(revision) },
      // Keys that are left out have defaults; the generated type does not know that.
      body: settings as unknown as Schema['RouteDefinition'],
    }),
  );

export const deleteRoute = (name: string, revision: number | null) =>
  ask(api.DELETE('/v1/routes/{name}', { params: { ...path(name), header: ifMatch(revision) } }));

export const rotateSecret = (name: string, revision: number | null, keepPrevious: boolean) =>
  ask(
    api.POST('/v1/routes/{name}/rotate-secret', {
      params: { ...path(name), header: ifMatch(revision) },
      body: { keep_previous: keepPrevious },
    }),
  );

/** Without `settings`: of the route as it is. */
export const previewRoute = (
  name: string | null,
  settings: Settings | null,
  payload: unknown,
  headers: Headers,
  signal: AbortSignal,
): Promise<RoutePreview> =>
  ask(
    api.POST('/v1/routes/preview', {
      body: {
        ...(name === null ? {} : { name }),
        ...(settings === null ? {} : { route: settings }),
        payload,
        headers,
      },
      signal,
    }),
  );

export const testRoute = (name: string, payload: unknown, headers: Headers): Promise<TestWebhook> =>
  ask(api.POST('/v1/routes/{name}/test', { params: path(name), body: { payload, headers } }));

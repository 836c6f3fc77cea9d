import { describe, expect, it } from '@jest/globals';
import {
  isEventType,
  isSessionId,
  ROUTES_STREAM,
  routeEventSchemas,
  routeStreamId,
  unhintedTypes,
} from './index.ts';

describe('the streams of routes made by API', () => {
  it('are no sessions, so that the views of sessions skip them', () => {
    for (const stream of [ROUTES_STREAM, routeStreamId('hook')]) expect(isSessionId(stream)).toBe(false);
    for (const type of Object.keys(routeEventSchemas)) expect(isEventType(type)).toBe(false);
  });

  it('cannot be taken for each other, whatever a route is called', () => {
    expect(routeStreamId('s')).not.toBe(ROUTES_STREAM);
  });

  it('are not hinted: a durable consumer would tell one replica of all', () => {
    for (const type of Object.keys(routeEventSchemas)) expect(unhintedTypes).toContain(type);
  });
});

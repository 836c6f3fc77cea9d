import { describe, expect, it } from '@jest/globals';
import {
  isEventType,
  isSessionId,
  ROUTES_STREAM,
  routeEventSchemas,
  routeStreamId,
  unhintedTypes,
} from '../index.ts';

describe('the streams of routes made through the API', () => {
  it('are not sessions, so the views of sessions skip them', () => {
    for (const stream of [ROUTES_STREAM, routeStreamId('hook')]) expect(isSessionId(stream)).toBe(false);
    for (const type of Object.keys(routeEventSchemas)) expect(isEventType(type)).toBe(false);
  });

  it('cannot be confused with each other, whatever the name of a route', () => {
    expect(routeStreamId('s')).not.toBe(ROUTES_STREAM);
  });

  it('are not hinted: a durable consumer would tell only one replica', () => {
    for (const type of Object.keys(routeEventSchemas)) expect(unhintedTypes).toContain(type);
  });
});

import type { IncomingHttpHeaders } from 'node:http';
import { toStorable } from '@angelia/event-log';
import { mediaTypeOf } from './json-body.ts';
import { propertyOf } from './lookup.ts';

/**
 * CloudEvents over HTTP (cloudevents.io, versions 0.3 and 1.0). In binary mode the attributes are headers (`ce-id`) and
 * the body is the data. In structured mode the body is the whole event. A batch is a list of structured events.
 */
export interface CloudEventNames {
  /** Unique within `source`. */
  readonly id: string;
  readonly source: string;
  readonly type: string;
}

const STRUCTURED_TYPE = 'application/cloudevents+json';
const BATCH_TYPE = 'application/cloudevents-batch+json';
const HEADER_PREFIX = 'ce-';
const VERSION_HEADER = 'ce-specversion';
/** As for every other name of an event (lookup.ts). */
const LONGEST_TYPE = 200;

/** null: the request is not a CloudEvent, or lacks a required attribute. Then it is a webhook like any other. */
export function cloudEventOf(headers: IncomingHttpHeaders, payload: unknown): CloudEventNames | null {
  const attribute = isStructured(headers)
    ? (name: string) => textAt(payload, name)
    : isBinary(headers)
      ? (name: string) => attributeIn(headers, name)
      : null;
  if (attribute === null) return null;
  const [id, source, type] = [attribute('id'), attribute('source'), attribute('type')];
  if (id === null || source === null || type === null || type.length > LONGEST_TYPE) return null;
  return { id, source, type };
}

function textAt(payload: unknown, name: string): string | null {
  const value = propertyOf(payload, name);
  return typeof value === 'string' && value !== '' ? toStorable(value) : null;
}

export function isBinary(headers: IncomingHttpHeaders): boolean {
  return headers[VERSION_HEADER] !== undefined && !isStructured(headers);
}

function isStructured(headers: IncomingHttpHeaders): boolean {
  return mediaTypeOf(headers['content-type']) === STRUCTURED_TYPE;
}

export function isBatch(headers: IncomingHttpHeaders): boolean {
  return mediaTypeOf(headers['content-type']) === BATCH_TYPE;
}

/** The headers of one event of a batch, as if it had been sent alone. */
export function structuredHeaders(headers: IncomingHttpHeaders): IncomingHttpHeaders {
  return { ...headers, 'content-type': STRUCTURED_TYPE };
}

/** The payload of a binary event without data: its attributes, which is what structured mode would send. */
export function attributesIn(headers: IncomingHttpHeaders): Readonly<Record<string, string>> {
  const attributes: Record<string, string> = {};
  for (const header of Object.keys(headers)) {
    if (!header.startsWith(HEADER_PREFIX)) continue;
    const name = header.slice(HEADER_PREFIX.length);
    const value = attributeIn(headers, name);
    if (value !== null) attributes[name] = value;
  }
  return attributes;
}

/** Header values are percent-encoded UTF-8. A value that is not is taken as it is. */
function attributeIn(headers: IncomingHttpHeaders, name: string): string | null {
  const value = headers[HEADER_PREFIX + name];
  if (typeof value !== 'string' || value === '') return null;
  try {
    return toStorable(decodeURIComponent(value));
  } catch {
    return toStorable(value);
  }
}

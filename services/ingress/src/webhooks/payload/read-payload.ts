import type { IncomingHttpHeaders } from 'node:http';
import { Refusal } from '../../http/refusal.ts';
import { attributesIn, isBinary } from './cloud-event.ts';
import { FORM_TYPE, parseFormBody } from './form-body.ts';
import { isJsonType, mediaTypeOf, parseJsonBody } from './json-body.ts';

/** @throws Refusal 415 if the content-type is neither JSON nor a form, 400 if the body does not match its content-type */
export function readPayload(headers: IncomingHttpHeaders, body: Buffer): unknown {
  // A CloudEvent need not have data, and then it need not have a content-type.
  if (body.length === 0 && isBinary(headers)) return attributesIn(headers);
  const encoding = headers['content-encoding'];
  if (encoding !== undefined && encoding.toLowerCase() !== 'identity') {
    throw new Refusal(
      415,
      'unsupported_encoding',
      'compressed bodies are not supported: send the body uncompressed',
    );
  }
  const mediaType = mediaTypeOf(headers['content-type']);
  if (isJsonType(mediaType)) return parseJsonBody(body);
  if (mediaType === FORM_TYPE) return parseFormBody(body);
  const given = mediaType === '' ? 'no content-type' : 'this content-type';
  throw new Refusal(415, 'unsupported_type', `${given} is not supported: send content-type application/json`);
}

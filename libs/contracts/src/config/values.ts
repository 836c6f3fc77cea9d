import { z } from 'zod';
import { notA } from '../validate.ts';

export const name = z
  .string()
  .regex(
    /^[a-z0-9][a-z0-9_-]{0,62}$/,
    'a name has 1 to 63 lower-case letters, digits, - and _, and starts with a letter or a digit.',
  );

export const seconds = z.number().nonnegative();

export const positiveSeconds = z.number().positive();

export const positiveInt = z.number().int().positive();

export const count = z.number().int().nonnegative();

export const httpUrl = z
  .url({
    protocol: /^https?$/,
    error: notA('an http or https URL', 'Write one such as https://example.com.'),
    abort: true,
  })
  // URLs are not secret: logs and spans show them. And no HTTP client would send a user and password from here.
  .refine((url) => !/^[^/]*\/\/[^/?#]*@/.test(url), {
    error:
      'this URL has a user or a password. Remove them, and put credentials under `headers` where that key exists.',
    abort: true,
  });

/** The base URL of an API: its paths are appended to it. */
export const baseUrl = httpUrl.refine((url) => !/[?#]/.test(url), {
  error: 'a base_url ends with its path. Remove what begins with ? or #.',
});

/** `10.0.0.7`, `10.0.0.0/8`, `fd00::/8` */
export const network = z.union([z.ipv4(), z.ipv6(), z.cidrv4(), z.cidrv6()], {
  error: notA('an IP address or a network', 'Write one such as 10.0.0.7 or 10.0.0.0/8.'),
});

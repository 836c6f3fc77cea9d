import { z } from 'zod';

export const name = z
  .string()
  .regex(/^[a-z0-9][a-z0-9_-]{0,62}$/, 'a name is lower-case letters, digits, - and _');

export const seconds = z.number().nonnegative();

export const positiveSeconds = z.number().positive();

export const positiveInt = z.number().int().positive();

export const count = z.number().int().nonnegative();

export const httpUrl = z
  .url({ protocol: /^https?$/, error: 'an http or https URL is wanted', abort: true })
  // URLs are not secret: logs and spans show them. And no HTTP client would send a user and password from here.
  .refine((url) => !/^[^/]*\/\/[^/?#]*@/.test(url), {
    error: 'a URL holds no name and password here: put them into a header, where there are `headers`',
    abort: true,
  });

/** The base URL of an API: its paths are appended to it. */
export const baseUrl = httpUrl.refine((url) => !/[?#]/.test(url), {
  error: 'a base_url has nothing behind its path: no ? and no #',
});

/** `10.0.0.7`, `10.0.0.0/8`, `fd00::/8` */
export const network = z.union([z.ipv4(), z.ipv6(), z.cidrv4(), z.cidrv6()], {
  error: 'an IP address or a network such as 10.0.0.0/8 is wanted',
});

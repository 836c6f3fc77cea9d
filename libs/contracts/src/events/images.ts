import { z } from 'zod';

/** Every provider that takes images takes these. */
export const imageTypes = ['image/png', 'image/jpeg', 'image/gif', 'image/webp'] as const;
export type ImageType = (typeof imageTypes)[number];

/** Of one result or message. */
export const MOST_IMAGES = 4;
/** In characters of base64, of one result or message. Anthropic takes images of up to 5 MB; a screenshot has a tenth of that. */
export const MOST_IMAGE_DATA = 4 * 1024 * 1024;

/** As events hold it. */
export const imageSchema = z.object({ mime_type: z.string(), data: z.base64() });
export type EventImage = z.infer<typeof imageSchema>;

/** The place of an image in the text beside it. Models that take no images, and other agents, read only this. */
export function imageNote(number: number, mimeType: string, data: string): string {
  return `[image ${number}: ${mimeType}, ${bytesOfBase64(data)} bytes]`;
}

export function bytesOfBase64(data: string): number {
  return Math.floor((data.replace(/=+$/, '').length * 3) / 4);
}

import { z } from 'zod';
import { bytesOfBase64, type EventImage } from './images.ts';

/** Where files of messages are in a session's working directory. */
export const RECEIVED_DIRECTORY = 'received';

/** One directory and one name. The name begins with a letter or digit, so it is neither `..` nor hidden nor an option. */
const PATH = /^received\/[\p{L}\p{N}][\p{L}\p{M}\p{N}._-]{0,79}$/u;

/** A file of a message, for commands: process-watcher puts it into the session's working directory. */
export const receivedFileSchema = z.object({
  /** Relative to the working directory. No other file of the conversation has it. */
  path: z.string().regex(PATH),
  mime_type: z.string(),
  /** Its bytes in base64. */
  data: z.base64().optional(),
  /** In place of `data`: it is this one of the event's `images`, counted from 1. */
  image: z.number().int().min(1).optional(),
});
export type ReceivedFile = z.infer<typeof receivedFileSchema>;

/** Null: the event has no such image. */
export function dataOfReceived(
  { data, image }: ReceivedFile,
  images: readonly EventImage[] = [],
): string | null {
  return data ?? (image === undefined ? null : (images[image - 1]?.data ?? null));
}

export function shownFile(
  file: ReceivedFile,
  images: readonly EventImage[] = [],
): Pick<ReceivedFile, 'path' | 'mime_type'> & { readonly bytes: number } {
  const { path, mime_type } = file;
  return { path, mime_type, bytes: bytesOfBase64(dataOfReceived(file, images) ?? '') };
}

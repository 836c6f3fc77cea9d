import { bytesOfBase64, type EventImage } from './images.ts';
import { type ReceivedFile, shownFile } from './received-files.ts';

/**
 * The data of an event without the thoughts that a provider wants back. They may hold what the model decided not to say, and
 * nobody but that model can do anything with them: people, programs and exports get the event without them.
 */
export function withoutReasoning(type: string, data: unknown): unknown {
  if (type !== 'model.responded' || typeof data !== 'object' || data === null || !('reasoning' in data))
    return data;
  const { reasoning: _, ...shown } = data;
  return shown;
}

/**
 * The data of an event as people and programs get it: without thoughts, and with sizes instead of the content of images and
 * files.
 */
export function shownData(type: string, data: unknown): unknown {
  const shown = withoutReasoning(type, data);
  const { images, files } = (shown ?? {}) as {
    readonly images?: readonly EventImage[];
    readonly files?: readonly ReceivedFile[];
  };
  if (!Array.isArray(images) && !Array.isArray(files)) return shown;
  const sizes = images?.map((image) => ({ mime_type: image.mime_type, bytes: bytesOfBase64(image.data) }));
  return {
    ...(shown as object),
    ...(sizes === undefined ? {} : { images: sizes }),
    ...(files === undefined ? {} : { files: files.map((file) => shownFile(file, images)) }),
  };
}

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

/** The data of an event as people and programs get it: without thoughts, and with the sizes of images in place of them. */
export function shownData(type: string, data: unknown): unknown {
  if (type !== 'tool.finished') return withoutReasoning(type, data);
  const { images } = data as { readonly images?: readonly { mime_type: string; data: string }[] };
  if (images === undefined) return data;
  const sizes = images.map((image) => ({ mime_type: image.mime_type, bytes: bytesOf(image.data) }));
  return { ...(data as object), images: sizes };
}

const bytesOf = (base64: string): number => Math.floor((base64.replace(/=+$/, '').length * 3) / 4);

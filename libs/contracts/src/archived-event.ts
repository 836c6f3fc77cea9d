import { z } from 'zod';
import { metaSchema } from './envelope.ts';

/** One line of an export: an event as it stood in the log. */
export const archivedEventSchema = z.object({
  stream_id: z.string(),
  version: z.number().int().positive(),
  type: z.string(),
  schema_version: z.number().int().positive(),
  event_id: z.uuid(),
  recorded_at: z.iso.datetime(),
  data: z.unknown(),
  meta: metaSchema,
});
export type ArchivedEvent = z.infer<typeof archivedEventSchema>;

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

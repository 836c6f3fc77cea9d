import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { useEffect, useState } from 'react';
import { type Headers, previewRoute, type Settings } from '../../../api/calls/route-calls.ts';

/** A pause in typing. Shorter, every key is a call; longer, the preview is felt to lag. */
const PAUSE_MS = 250;

interface Asked {
  readonly name: string | null;
  readonly settings: Settings | null;
  readonly payload: unknown;
  readonly headers: Headers;
}

/** What a webhook would do, asked for when the typing pauses. `null`: there is nothing to ask. */
export function usePreview(asked: Asked | null) {
  const text = JSON.stringify(asked);
  const [settled, setSettled] = useState(text);
  useEffect(() => {
    const timer = setTimeout(() => setSettled(text), PAUSE_MS);
    return () => clearTimeout(timer);
  }, [text]);
  return useQuery({
    queryKey: ['route-preview', settled],
    queryFn: ({ signal }) => {
      const { name, settings, payload, headers } = JSON.parse(settled) as Asked;
      return previewRoute(name, settings, payload, headers, signal);
    },
    enabled: settled !== 'null',
    placeholderData: keepPreviousData,
    // Every key makes a new query: they are not kept.
    gcTime: 10_000,
  });
}

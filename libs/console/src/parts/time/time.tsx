import { usePreferences } from '../../app/preferences/preferences.ts';
import { duration, exactTime, relativeTime } from './format-time.ts';
import { useNow, useNowInSteps } from './now.ts';

/** A time relative to now, with the exact one on hover. */
export function Time({ at, exact = false }: { readonly at: string | number; readonly exact?: boolean }) {
  const { zone } = usePreferences();
  const ms = typeof at === 'number' ? at : Date.parse(at);
  // Seconds are only told of the last minute.
  const now = useNowInSteps(Date.now() - ms < 60_000 ? 1_000 : 10_000);
  const precise = exactTime(ms, zone);
  return (
    <time dateTime={Number.isFinite(ms) ? new Date(ms).toISOString() : undefined} title={precise}>
      {exact ? precise : relativeTime(ms, Math.max(now, Math.min(ms, Date.now())), zone)}
    </time>
  );
}

/** How long something took, or takes so far. */
export function Took({ from, until }: { readonly from: number; readonly until: number | null }) {
  return until === null ? <SoFar from={from} /> : <span>{duration(until - from)}</span>;
}

function SoFar({ from }: { readonly from: number }) {
  const now = useNow();
  return <span>{duration(Math.max(0, now - from))}</span>;
}

/** How long until then, to the second. */
export function Countdown({ until }: { readonly until: number }) {
  const { zone } = usePreferences();
  const left = until - useNow();
  return (
    <time dateTime={new Date(until).toISOString()} title={exactTime(until, zone)}>
      {left > 0 ? `in ${duration(left)}` : 'now'}
    </time>
  );
}

import { type RefObject, useLayoutEffect, useState } from 'react';
import { flushSync } from 'react-dom';
import { isSameSight, rowsInSight, type Sight } from './rows-in-sight.ts';

/** Which rows to draw; follows the scroller and its size. */
export function useRowsInSight(
  scroller: RefObject<HTMLElement | null>,
  rows: { readonly count: number; readonly height: number },
): Sight {
  const { count, height } = rows;
  const [sight, setSight] = useState<Sight>({ first: 0, end: 0 });
  useLayoutEffect(() => {
    const element = scroller.current;
    if (element === null) return;
    const look = () =>
      setSight((before) => {
        const now = rowsInSight(element, { height, count });
        return isSameSight(before, now) ? before : now;
      });
    // Renders in the frame of the scroll. React alone would render a frame later, and a fast scroll would show empty space.
    const lookNow = () => flushSync(look);
    look();
    const resized = new ResizeObserver(() => look());
    resized.observe(element);
    element.addEventListener('scroll', lookNow, { passive: true });
    return () => {
      resized.disconnect();
      element.removeEventListener('scroll', lookNow);
    };
  }, [scroller, count, height]);
  return sight;
}

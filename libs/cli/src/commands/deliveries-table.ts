import type { Delivery } from '../api/types.ts';
import type { Context } from '../command-line/command.ts';
import { toneOf } from '../terminal/style.ts';
import { type Column, table } from '../terminal/table.ts';
import { agoText } from '../terminal/time.ts';

export function deliveryTable(items: readonly Delivery[], { out, runtime }: Context): string {
  if (items.length === 0) return '';
  const columns: Column<Delivery>[] = [
    { head: 'DELIVERY', text: ({ id }) => id },
    { head: 'STATUS', text: ({ status }) => status, tone: ({ status }) => toneOf(status) },
    {
      head: 'TARGET',
      text: ({ target, via }) => (via === 'target' ? target : `${target} (fallback)`),
      dropped: 2,
    },
    { head: 'KIND', text: ({ kind }) => kind, dropped: 5 },
    { head: 'TRIES', text: ({ attempts }) => String(attempts), right: true, dropped: 4 },
    {
      head: 'CHANGED',
      text: ({ updated_at: at }) => agoText(at, runtime.now()),
      tone: () => 'dim',
      dropped: 3,
    },
    { head: 'WHAT', text: whatOf, flexible: true, dropped: 1 },
  ];
  return table(items, columns, out);
}

function whatOf({
  status,
  reason,
  receipt,
  next_attempt_at: next,
  possible_duplicate: twice,
}: Delivery): string {
  return [
    status === 'delivered' ? receipt : reason,
    status === 'pending' && next !== null ? `due ${next}` : null,
    twice ? 'possible duplicate' : null,
  ]
    .filter((part) => part !== null)
    .join('; ');
}

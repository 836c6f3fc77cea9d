import type { DeadLetter } from '../api/types.ts';
import type { Context } from '../command-line/command.ts';
import { type Column, table } from '../terminal/table.ts';
import { agoText } from '../terminal/time.ts';

export function deadLetterTable(items: readonly DeadLetter[], { out, runtime }: Context): string {
  if (items.length === 0) return '';
  const columns: Column<DeadLetter>[] = [
    { head: 'ID', text: ({ id }) => id, right: true },
    { head: 'STREAM', text: ({ stream_id: id }) => id, dropped: 2 },
    { head: 'VERSION', text: ({ version }) => String(version), right: true, dropped: 5 },
    { head: 'HANDLER', text: ({ handler }) => handler, dropped: 3 },
    {
      head: 'WHEN',
      text: ({ recorded_at: at }) => agoText(at, runtime.now()),
      tone: () => 'dim',
      dropped: 4,
    },
    { head: 'REASON', text: ({ reason }) => reason, flexible: true, dropped: 1 },
  ];
  return table(items, columns, out);
}

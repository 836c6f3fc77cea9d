/** Paths in a box of 16 × 16, drawn with a line of 1.5. */
const PATHS = {
  now: 'M2 9h3l2-6 3 10 2-6h2',
  sessions: 'M3 4h10M3 8h10M3 12h6',
  inbox: 'M2 9h3.5l1 2h3l1-2H14M2 9l2-6h8l2 6v4H2z',
  webhooks: 'M8 2v7m0 0L5 6m3 3 3-3M3 13h10',
  deliveries: 'M14 2 7 9M14 2l-4 12-3-5-5-3z',
  routes: 'M4 4h3c3 0 2 8 5 8h1M4 4a1 1 0 1 1-2 0 1 1 0 0 1 2 0M11 10l2 2-2 2',
  processes: 'M3 5l3 3-3 3M8 11h5',
  system: 'M3 3h10v4H3zM3 9h10v4H3zM5 5h.01M5 11h.01',
  copy: 'M6 6h7v7H6zM10 3H3v7',
  done: 'M3 8.5l3 3 7-7',
  search: 'M7 12A5 5 0 1 0 7 2a5 5 0 0 0 0 10M11 11l3 3',
  close: 'M4 4l8 8M12 4l-8 8',
  open: 'M6 4l4 4-4 4',
  shut: 'M4 6l4 4 4-4',
  more: 'M3 8h.01M8 8h.01M13 8h.01',
  external: 'M9 3h4v4M13 3 7 9M11 9v4H3V5h4',
  warning: 'M8 2 1.5 13.5h13zM8 6.5v3M8 11.5h.01',
  help: 'M6 6a2 2 0 1 1 3 1.7c-.7.4-1 .8-1 1.5M8 12h.01M8 15A7 7 0 1 0 8 1a7 7 0 0 0 0 14',
  out: 'M6 3H3v10h3M10 5l3 3-3 3M13 8H6',
  theme: 'M8 2a6 6 0 1 0 0 12zM8 2a6 6 0 0 1 0 12',
  clock: 'M8 15A7 7 0 1 0 8 1a7 7 0 0 0 0 14M8 4v4l3 2',
  retry: 'M13 3v4H9M13 7a5.5 5.5 0 1 0 .3 3',
  stop: 'M4 4h8v8H4z',
  message: 'M2 3h12v8H7l-3 3v-3H2z',
  trash: 'M3 4h10M6 4V2h4v2M5 4l.5 10h5L11 4',
} as const;

export type IconName = keyof typeof PATHS;

/** A picture without a meaning of its own: a text beside it, or a label of its button, says the same. */
export function Icon({ name }: { readonly name: IconName }) {
  return (
    <svg className="icon" viewBox="0 0 16 16" width="16" height="16" aria-hidden="true" focusable="false">
      <path d={PATHS[name]} />
    </svg>
  );
}

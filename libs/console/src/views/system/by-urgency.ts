const ORDER = ['fault', 'warning', 'ok', 'skipped'] as const;

/** Faults first, then warnings; among equals the order of the checks stays. */
export function byUrgency<F extends { readonly state: (typeof ORDER)[number] }>(
  findings: readonly F[],
): readonly F[] {
  return findings.toSorted((a, b) => ORDER.indexOf(a.state) - ORDER.indexOf(b.state));
}

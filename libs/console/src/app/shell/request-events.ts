/** What waits for a person. */
export type Waiting = 'questions' | 'approvals';

const CHANGES: Readonly<Record<Waiting, string>> = { questions: 'clarification.', approvals: 'approval.' };

/** Whether an event of this type may change the number of open requests. A session that ends can only close some. */
export function changesOpen(what: Waiting, type: string, open: number | undefined): boolean {
  if (type.startsWith(CHANGES[what])) return true;
  return open !== 0 && (type === 'session.ended' || type === 'run.cancelled');
}

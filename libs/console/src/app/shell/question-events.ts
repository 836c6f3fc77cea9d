/** Whether another number of questions may be open after an event of this type. A session that ends can only close some. */
export function changesQuestions(type: string, open: number | undefined): boolean {
  if (type.startsWith('clarification.')) return true;
  return open !== 0 && (type === 'session.ended' || type === 'run.cancelled');
}

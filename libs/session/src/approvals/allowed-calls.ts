import { codeSpan } from './shown-arguments.ts';

/** What an approval for the session allows from then on, for the person who gives it. Markdown. */
export function allowedCalls({
  tool,
  match,
}: {
  readonly tool: string;
  readonly match: string | null;
}): string {
  if (match === null) return `every later call of ${codeSpan(tool)} that its policy asks about`;
  const alone = tool === 'terminal' ? ' and append no other command' : '';
  return `later calls of ${codeSpan(tool)} that match ${codeSpan(match)}${alone}`;
}

import { Badge } from '../feedback/badge.tsx';
import { type HasState, sessionState } from './session-state.ts';

export function SessionBadge({ session }: { readonly session: HasState }) {
  const { tone, text } = sessionState(session);
  return <Badge tone={tone}>{text}</Badge>;
}

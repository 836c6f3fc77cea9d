import type { AgentConfig, EventData } from '@angelia/contracts';

type Reason = EventData<'run.put-off'>['reason'];

/** Who could not be used, in the words of the user. */
const names = { llm: 'the language model', http: 'the agent that should do this' } as const;
type Kind = keyof typeof names & AgentConfig['kind'];

/** What the user reads while a turn waits: why, and when it goes on. Never the provider's words. */
export function waitingText(kind: Kind, reason: Reason, retryAt: number, now: number): string {
  const again = `I will try again at ${clockTime(retryAt, now)}.`;
  const who = `T${names[kind].slice(1)}`;
  return reason === 'unavailable'
    ? `${who} is busy; ${again}`
    : `${who} could not be used because of a configuration problem. The operator can see why. ${again}`;
}

/** What the user reads when the wait is over, or when there is nothing to wait for (null: it refuses this request). */
export function givenUpText(kind: Kind, reason: Reason | null): string {
  switch (reason) {
    case null:
      return `Sorry, ${names[kind]} refused this request, so it was not answered.`;
    case 'unavailable':
      return `Sorry, ${names[kind]} could not be reached, so this was not answered.`;
    case 'configuration':
      return `Sorry, this was not answered: ${names[kind]} could not be used because of a configuration problem. The operator can see why.`;
  }
}

/** `14:05 UTC`, rounded up: not before that minute. With the date if it is another day. */
export function clockTime(at: number, now: number): string {
  const minute = new Date(Math.ceil(at / 60_000) * 60_000).toISOString();
  const [day = '', time = ''] = minute.split('T');
  const today = new Date(now).toISOString().startsWith(day);
  return `${today ? '' : `${day} `}${time.slice(0, 5)} UTC`;
}

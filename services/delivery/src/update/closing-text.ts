import { chatPlatforms } from '@angelia/chats';
import type { EventData, RecordedEvent } from '@angelia/contracts';
import { allowedCalls, shortened } from '@angelia/session';
import type { Loaded } from '@angelia/sessions';

/** The outcome of a question or of a request for approval, as its message shows it. Markdown. */
export interface Closing {
  readonly text: string;
  /** For a message that is nearly full. */
  readonly brief: string;
  readonly at: number;
}

/** An answer by mail may be long. It is in the transcript, whole. */
const LONGEST_ANSWER = 300;

export function closingOf(loaded: Loaded, output: number): Closing {
  const asked = loaded.events[output - 1];
  const closed = asked === undefined ? undefined : closingEvent(loaded, asked);
  const { text, brief } = closed === undefined ? { text: '**Closed.**', brief: '**Closed.**' } : said(closed);
  return { text, brief, at: closed?.recordedAt ?? loaded.state.lastActivityAt };
}

type Asked = Partial<EventData<'clarification.requested'> & EventData<'approval.requested'>>;

/** The end of the session closes what is open. */
function closingEvent({ events }: Loaded, asked: RecordedEvent): RecordedEvent | undefined {
  const { clarification_id: question, approval_id: request } = asked.data as Asked;
  return events.slice(asked.version).find(({ type, data }) => {
    const { clarification_id, approval_id } = data as Asked;
    if (type === 'session.ended') return true;
    return question === undefined
      ? approval_id === request && (type === 'approval.decided' || type === 'approval.expired')
      : clarification_id === question && type.startsWith('clarification.');
  });
}

function said({ type, data, meta }: RecordedEvent): Pick<Closing, 'text' | 'brief'> {
  switch (type) {
    case 'clarification.answered': {
      const { answer, person } = data as EventData<'clarification.answered'>;
      const who = by(meta.actor, person);
      return { text: `**Answered** ${who}: ${plain(answer)}`, brief: '**Answered.**' };
    }
    case 'approval.decided': {
      const { decision, scope, allows, actor, person, reason } = data as EventData<'approval.decided'>;
      const what = decision === 'approve' ? 'Approved' : 'Denied';
      const session = scope === 'session' ? ' for this session' : '';
      const rule = allows === undefined ? '' : `, which allows ${allowedCalls(allows)}`;
      const why = reason === null ? `${rule}.` : `${rule}: ${plain(reason)}`;
      return { text: `**${what}** ${by(actor, person)}${session}${why}`, brief: `**${what}.**` };
    }
    case 'clarification.timed-out':
      return alike('**Closed:** nobody answered in time.');
    case 'approval.expired':
      return (data as EventData<'approval.expired'>).reason === 'time'
        ? alike('**Denied:** nobody decided in time.')
        : alike('**Closed:** something newer replaced it.');
    case 'clarification.superseded':
      return alike('**Closed:** something newer replaced it.');
    default:
      return alike('**Closed:** the session has ended.');
  }
}

const alike = (text: string) => ({ text, brief: text });

const IN_A_CHAT = new RegExp(`^(?:chat:)?(${chatPlatforms.join('|')}):(\\S+?)(?: \\((.*)\\))?$`);

/** A name as people read it. The actor of a chat is `chat:<platform>:<user id>`, with the name of a pairing in brackets. */
function by(actor: string, person: string | undefined): string {
  if (actor === 'link') return 'through the link';
  if (actor === 'api') return 'through the API';
  if (person !== undefined) return `by ${plain(person)}`;
  const [, platform, id = '', name] = IN_A_CHAT.exec(actor) ?? [];
  if (name !== undefined) return `by ${plain(name)}`;
  return `by ${platform === undefined ? plain(actor) : `${platform} user ${plain(id)}`}`;
}

/** A text that a person wrote, in one line, without markup. */
function plain(text: string): string {
  const line = shortened(text.replace(/\s+/g, ' ').trim(), LONGEST_ANSWER);
  return line.replace(/[\\`*_[\]<>~|#&]/g, '\\$&');
}

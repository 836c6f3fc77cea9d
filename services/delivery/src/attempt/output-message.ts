import type { EventData, RecordedEvent } from '@angelia/contracts';
import type { AnswerLinks } from '@angelia/service-kit';
import type { Loaded } from '@angelia/sessions';
import type { OutboundMessage } from '../targets/target.ts';
import { approvalText } from './approval-text.ts';

/**
 * The output as it was recorded, and nothing else (invariant written-before-sent; seed 003). Only the link of a question is
 * made here, the same on every attempt: it is a key, and the log holds none.
 */
export function outputMessage(
  loaded: Loaded,
  output: number,
  possibleDuplicate: boolean,
  answering: Answering,
): OutboundMessage {
  const event = outputEvent(loaded, output);
  const { created } = loaded.state;
  if (created === null) throw new Error(`${loaded.id} has outputs and no session.created`);
  return {
    ...contentOf(event, loaded, answering),
    sessionId: loaded.id,
    version: output,
    route: created.route,
    deliveryId: created.deliveryId,
    title: created.title,
    possibleDuplicate,
  };
}

/** What a question says about how to answer it. */
export interface Answering {
  /** Null where no link may appear. */
  readonly links: Pick<AnswerLinks, 'url' | 'approvalUrl'> | null;
  /** For the operator, who reads the questions in the log. */
  readonly note?: string | null;
}

export function outputEvent(loaded: Loaded, output: number): RecordedEvent {
  // Streams are read from version 1 and have no gaps.
  const event = loaded.events[output - 1];
  if (event?.version !== output) throw new Error(`${loaded.id} has no event ${output}`);
  return event;
}

function contentOf(
  event: RecordedEvent,
  loaded: Loaded,
  answering: Answering,
): Pick<OutboundMessage, 'type' | 'text'> {
  switch (event.type) {
    case 'session.interim-status':
      return { type: 'interim-status', text: (event.data as EventData<'session.interim-status'>).text };
    case 'session.final-response':
      return { type: 'final-response', text: (event.data as EventData<'session.final-response'>).text };
    case 'clarification.requested': {
      const { question, choices } = event.data as EventData<'clarification.requested'>;
      return {
        type: 'clarification',
        text: [question, numbered(choices), howToAnswer(loaded, event.version, answering)]
          .filter((part) => part !== '')
          .join('\n\n'),
      };
    }
    case 'approval.requested': {
      const request = event.data as EventData<'approval.requested'>;
      return {
        type: 'approval',
        text: approvalText(request, howToDecide(loaded, event.version, answering, request)),
      };
    }
    default:
      throw new Error(`event ${event.version} (${event.type}) is not an output`);
  }
}

function numbered(choices: readonly string[]): string {
  return choices.map((choice, index) => `${index + 1}. ${choice}`).join('\n');
}

function howToDecide(
  { id }: Loaded,
  output: number,
  { links, note }: Answering,
  { approval_id, approvers }: EventData<'approval.requested'>,
): string {
  const byLink = approvers.length === 0 || approvers.includes('link');
  if (links !== null && byLink)
    return `Approve or deny here: ${links.approvalUrl({ sessionId: id, output })}`;
  const how = `Decide with \`angelia approve ${approval_id}\` or \`angelia deny ${approval_id}\``;
  return note == null || !byLink ? how : `${how}\n\n${note}`;
}

function howToAnswer({ id }: Loaded, output: number, { links, note }: Answering): string {
  if (links !== null) return `Answer here: ${links.url({ sessionId: id, output })}`;
  const how = `Answer with POST /v1/sessions/${id}/messages`;
  return note == null ? how : `${how}\n\n${note}`;
}

import type { EventData, RecordedEvent } from '@angelia/contracts';
import type { Loaded } from '@angelia/sessions';
import type { OutboundMessage } from '../targets/target.ts';
import { type Answering, approvalContent, questionContent } from './question-message.ts';

/**
 * The output as it was recorded, and nothing else (invariant written-before-sent; seed 003). Only the link of a question is
 * made here, the same on every attempt: it is a key, and the log holds none.
 *
 * @param closing the outcome of the question, which replaces how to answer it
 */
export function outputMessage(
  loaded: Loaded,
  output: number,
  possibleDuplicate: boolean,
  answering: Answering,
  closing?: string,
): OutboundMessage {
  const event = outputEvent(loaded, output);
  const { created } = loaded.state;
  if (created === null) throw new Error(`${loaded.id} has outputs and no session.created`);
  return {
    ...contentOf(event, loaded, answering, closing),
    sessionId: loaded.id,
    version: output,
    route: created.route,
    deliveryId: created.deliveryId,
    title: created.title,
    possibleDuplicate,
  };
}

export function outputEvent(loaded: Loaded, output: number): RecordedEvent {
  // Streams are read from version 1 and have no gaps.
  const event = loaded.events[output - 1];
  if (event?.version !== output) throw new Error(`${loaded.id} has no event ${output}`);
  return event;
}

function contentOf(
  event: RecordedEvent,
  { id }: Loaded,
  answering: Answering,
  closing: string | undefined,
): Pick<OutboundMessage, 'type' | 'text' | 'buttons'> {
  const name = { sessionId: id, output: event.version };
  switch (event.type) {
    case 'session.interim-status':
      return { type: 'interim-status', text: (event.data as EventData<'session.interim-status'>).text };
    case 'session.final-response':
      return { type: 'final-response', text: (event.data as EventData<'session.final-response'>).text };
    case 'clarification.requested':
      return questionContent(event.data as EventData<'clarification.requested'>, name, answering, closing);
    case 'approval.requested':
      return approvalContent(event.data as EventData<'approval.requested'>, name, answering, closing);
    default:
      throw new Error(`event ${event.version} (${event.type}) is not an output`);
  }
}

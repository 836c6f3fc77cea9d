import { describe, expect, it } from '@jest/globals';
import { eventSchemas, eventTypes, isEventType, outputTypes } from '../index.ts';

/** INTERFACES.md, "Event types in a session's stream", and later additions. Written out here, so that no type can vanish unnoticed. */
const PUBLIC_TYPES = `
  session.created turn.requested run.started model.responded tool.started tool.finished webhook.coalesced
  session.interim-status clarification.requested clarification.answered clarification.timed-out session.final-response
  run.failed run.cancelled run.interrupted delivery.attempted delivery.chunk-taken delivery.succeeded delivery.failed
  delivery.dead delivery.dropped delivery.retry-requested delivery.updated delivery.update-failed process.started process.matched process.exited process.lost
  process.completion-consumed session.ended context.compressed process.kill-requested clarification.superseded
  run.put-off webhook.placeholder-missing approval.requested approval.decided approval.expired`
  .trim()
  .split(/\s+/);

describe('event types', () => {
  it.each(PUBLIC_TYPES)('%s has a schema', (type) => {
    expect(isEventType(type)).toBe(true);
  });

  it('has no type that the public interface does not name', () => {
    expect([...eventTypes].sort()).toEqual([...PUBLIC_TYPES].sort());
  });

  it('does not mistake a property of Object for a type', () => {
    expect(isEventType('constructor')).toBe(false);
  });

  it('names a category and a type, as subjects need them', () => {
    for (const type of eventTypes) expect(type).toMatch(/^[a-z]+\.[a-z-]+$/);
  });

  it.each(eventTypes)('the data of %s is an object with required fields', (type) => {
    expect(eventSchemas[type].safeParse({}).success).toBe(false);
    expect(eventSchemas[type].safeParse(null).success).toBe(false);
  });

  it('fills in the defaults of an accepted session', () => {
    const data = eventSchemas['session.created'].parse({
      route: 'r',
      event: null,
      delivery_id: 'd',
      title: 't',
      agent: 'default',
      deliver: { target: 'log', to: {} },
    });
    expect(data).toMatchObject({
      interim: 'message',
      deliver_only: false,
      fallback_target: null,
      queue_deadline: null,
    });
    expect(data.deliver.untrusted_address).toBe(false);
  });

  it('lets a reader keep fields that a newer writer added', () => {
    const parsed = eventSchemas['session.ended'].parse({
      outcome: 'succeeded',
      reason: 'webhook_complete',
      later: 1,
    });
    expect(parsed.outcome).toBe('succeeded');
  });

  it('lists the delivered types as outputs', () => {
    expect(outputTypes).toEqual([
      'session.interim-status',
      'clarification.requested',
      'approval.requested',
      'session.final-response',
    ]);
  });
});

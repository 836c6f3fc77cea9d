import { describe, expect, it } from '@jest/globals';
import { sampleBody } from './sample-body.ts';

describe('the test webhook for a route', () => {
  it('has a value for every placeholder, and those that the filters ask for', () => {
    const route = {
      prompt:
        'Review #{number}: {pull_request.title}\n\n{pull_request}\n{commits.0.id} {event_type} {__raw__}',
      deliver_extra: { repo: '{repository.full_name}', pr_number: '{number}' },
      filters: [
        { field: 'action', in: ['opened', 'synchronize'] },
        {
          all: [
            { field: 'pull_request.draft', equals: false },
            { any: [{ field: 'labels', contains: 'x' }] },
          ],
        },
        { field: 'sender.login', exists: true },
        { field: 'event', equals: 'pull_request' },
        { not: { field: 'pull_request.title', equals: 'secret' } },
      ],
    };
    expect(sampleBody(route, 'github', 'pull_request')).toEqual({
      text: 'Hello from angelia send',
      number: 1,
      pull_request: { title: 'test title', draft: false },
      commits: [{ id: 1 }],
      repository: { full_name: 'test/test' },
      action: 'opened',
      labels: 'x',
      sender: { login: 'test login' },
    });
  });

  it.each([
    ['github', 'issues.opened', { action: 'opened' }],
    ['gitlab', 'merge_request.open', { object_attributes: { action: 'open' } }],
    ['stripe', 'charge.dispute.created', { type: 'charge.dispute.created' }],
    ['slack', 'app_mention', { event: { type: 'app_mention' } }],
    ['linear', 'Issue.create', { type: 'Issue', action: 'create' }],
    ['pagerduty', 'incident.triggered', { event: { event_type: 'incident.triggered' } }],
    ['typeform', 'form_response', { event_type: 'form_response' }],
    ['zendesk', 'zen:event-type:ticket.created', { type: 'zen:event-type:ticket.created' }],
    ['bearer', null, {}],
  ])('of %s has its event in the place of the sender', (scheme, event, parts) => {
    expect(sampleBody({}, scheme, event)).toEqual({ text: 'Hello from angelia send', ...parts });
  });

  it('of Telegram has no other key than the kind of the update', () => {
    expect(sampleBody({}, 'telegram', 'message')).toEqual({ message: { text: 'Hello from angelia send' } });
  });
});

import type { IconName } from '../../parts/controls/icon.tsx';

export interface Destination {
  readonly to:
    | '/'
    | '/sessions'
    | '/inbox'
    | '/webhooks'
    | '/deliveries'
    | '/routes'
    | '/chats'
    | '/processes'
    | '/system';
  readonly name: string;
  readonly icon: IconName;
  /** In the bar at the bottom of a phone; the others are behind "More". */
  readonly onPhone: boolean;
}

/** The views, in the order in which a person on duty looks at them. */
export const DESTINATIONS: readonly Destination[] = [
  { to: '/', name: 'Now', icon: 'now', onPhone: true },
  { to: '/sessions', name: 'Sessions', icon: 'sessions', onPhone: true },
  { to: '/inbox', name: 'Inbox', icon: 'inbox', onPhone: true },
  { to: '/deliveries', name: 'Deliveries', icon: 'deliveries', onPhone: true },
  { to: '/webhooks', name: 'Webhooks', icon: 'webhooks', onPhone: false },
  { to: '/routes', name: 'Routes', icon: 'routes', onPhone: false },
  { to: '/chats', name: 'Chats', icon: 'message', onPhone: false },
  { to: '/processes', name: 'Processes', icon: 'processes', onPhone: false },
  { to: '/system', name: 'System', icon: 'system', onPhone: false },
];

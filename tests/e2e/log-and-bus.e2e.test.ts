import { leader } from './log-and-bus/leader.ts';
import { lostBus } from './log-and-bus/lost-bus.ts';
import { outage } from './log-and-bus/outage.ts';
import { views } from './log-and-bus/views.ts';
import { shareStack } from './shared-stack.ts';

// As in production: on a starved machine a short lease is lost, and its run rightly done again.
shareStack({ timing: { lease_seconds: 20 } }, [views, leader, outage, lostBus]);

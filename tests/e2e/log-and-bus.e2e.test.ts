import { leader } from './log-and-bus/leader.ts';
import { lostBus } from './log-and-bus/lost-bus.ts';
import { outage } from './log-and-bus/outage.ts';
import { views } from './log-and-bus/views.ts';
import { shareStack } from './shared-stack.ts';

shareStack({}, [views, leader, outage, lostBus]);

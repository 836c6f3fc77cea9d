import './log-and-bus/views.ts';
import './log-and-bus/leader.ts';
import './log-and-bus/outage.ts';
import './log-and-bus/lost-bus.ts';
import { shareStack } from './shared-stack.ts';

// As in production: on a starved machine a short lease is lost, and its run rightly done again.
shareStack({ timing: { lease_seconds: 20 } });

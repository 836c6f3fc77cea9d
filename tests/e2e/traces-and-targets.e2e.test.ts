import { shareStack } from './shared-stack.ts';
import { allTargets } from './traces-and-targets/all-targets.ts';
import { oneTrace } from './traces-and-targets/one-trace.ts';

shareStack(
  {
    traces: true,
    delivery: { retry_schedule_seconds: [0.2, 0.2, 0.2] },
  },
  [allTargets, oneTrace],
);

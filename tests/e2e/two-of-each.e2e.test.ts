import { shareStack } from './shared-stack.ts';
import { scaleOut } from './two-of-each/scale-out.ts';
import { targetDown } from './two-of-each/target-down.ts';

shareStack(
  {
    replicas: 'ingress=2,agent-runner=2,delivery=2,process-watcher=2',
    // As in production: on a machine that is slow, a short lease would be lost by one that is at work.
    timing: { lease_seconds: 20, sweep_seconds: 5, lead_seconds: 5 },
  },
  [scaleOut, targetDown],
);

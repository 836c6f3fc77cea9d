import { shareStack } from './shared-stack.ts';
import { scaleOut } from './two-of-each/scale-out.ts';
import { targetDown } from './two-of-each/target-down.ts';

shareStack(
  {
    replicas: 'ingress=2,agent-runner=2,delivery=2,process-watcher=2',
    timing: { sweep_seconds: 5, lead_seconds: 5 },
  },
  [scaleOut, targetDown],
);

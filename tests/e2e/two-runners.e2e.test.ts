import { SHORT_TIMING } from '@angelia/testkit';
import { shareStack } from './shared-stack.ts';
import { killedApproval } from './two-runners/killed-approval.ts';
import { killedRunner } from './two-runners/killed-runner.ts';
import { waiting } from './two-runners/waiting.ts';

shareStack({ traces: true, replicas: 'agent-runner=2', timing: SHORT_TIMING }, [
  killedRunner,
  killedApproval,
  waiting,
]);

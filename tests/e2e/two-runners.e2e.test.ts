import { shareStack } from './shared-stack.ts';
import './two-runners/killed-runner.ts';
import './two-runners/waiting.ts';

shareStack({ traces: true, replicas: 'agent-runner=2' });

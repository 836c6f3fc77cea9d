import { shareStack } from './shared-stack.ts';
import './two-runners/killed-runner.ts';
import './two-runners/waiting.ts';

shareStack({ replicas: 'agent-runner=2' });

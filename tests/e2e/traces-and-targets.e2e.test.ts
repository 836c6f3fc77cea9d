import './traces-and-targets/all-targets.ts';
import './traces-and-targets/one-trace.ts';
import { shareStack } from './shared-stack.ts';

shareStack({
  traces: true,
  delivery: { retry_schedule_seconds: [0.2, 0.2, 0.2], request_timeout_seconds: 5 },
});

import './killed-services/killed-ingress.ts';
import './killed-services/killed-sender.ts';
import './killed-services/sampled-whole.ts';
import { shareStack } from './shared-stack.ts';

shareStack();

import { capturedContent } from './killed-services/captured-content.ts';
import { killedIngress } from './killed-services/killed-ingress.ts';
import { killedSender } from './killed-services/killed-sender.ts';
import { sampledWhole } from './killed-services/sampled-whole.ts';
import { shareStack } from './shared-stack.ts';

shareStack({ traces: true }, [killedIngress, killedSender, sampledWhole, capturedContent]);

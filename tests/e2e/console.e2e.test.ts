import { accessibility } from './console/accessibility.ts';
import { approval } from './console/approval.ts';
import { deadDeliveries } from './console/dead-deliveries.ts';
import { hostileTexts } from './console/hostile-texts.ts';
import { ignoredWebhook } from './console/ignored-webhook.ts';
import { keyboard } from './console/keyboard.ts';
import { liveSession } from './console/live-session.ts';
import { newRoute } from './console/new-route.ts';
import { pairing } from './console/pairing.ts';
import { question } from './console/question.ts';
import { restart } from './console/restart.ts';
import { signIn } from './console/sign-in.ts';
import { shareBrowser } from './console/visit.ts';
import { shareStack } from './shared-stack.ts';

shareBrowser();
shareStack({}, [
  signIn,
  liveSession,
  keyboard,
  question,
  approval,
  ignoredWebhook,
  deadDeliveries,
  newRoute,
  pairing,
  hostileTexts,
  restart,
  accessibility,
]);

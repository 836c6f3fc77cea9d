import { accessibility } from './console/accessibility.ts';
import { hostileTexts } from './console/hostile-texts.ts';
import { liveSession } from './console/live-session.ts';
import { restart } from './console/restart.ts';
import { signIn } from './console/sign-in.ts';
import { shareBrowser } from './console/visit.ts';
import { shareStack } from './shared-stack.ts';

shareBrowser();
shareStack({}, [signIn, liveSession, hostileTexts, restart, accessibility]);

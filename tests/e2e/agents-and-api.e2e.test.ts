import './agents-and-api/agent-kinds.ts';
import './agents-and-api/api.ts';
import './agents-and-api/api-routes.ts';
import './agents-and-api/clarify-and-mcp.ts';
import './agents-and-api/scripts-and-skills.ts';
import { shareStack } from './shared-stack.ts';

shareStack();

import { agentKinds } from './agents-and-api/agent-kinds.ts';
import { api } from './agents-and-api/api.ts';
import { apiRoutes } from './agents-and-api/api-routes.ts';
import { clarifyAndMcp } from './agents-and-api/clarify-and-mcp.ts';
import { cli } from './agents-and-api/cli.ts';
import { consoleApi } from './agents-and-api/console-api.ts';
import { scriptsAndSkills } from './agents-and-api/scripts-and-skills.ts';
import { shareStack } from './shared-stack.ts';

shareStack({ traces: true }, [agentKinds, api, apiRoutes, clarifyAndMcp, scriptsAndSkills, cli, consoleApi]);

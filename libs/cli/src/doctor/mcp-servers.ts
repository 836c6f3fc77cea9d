import { accessSync, constants, statSync } from 'node:fs';
import { delimiter, isAbsolute, resolve } from 'node:path';
import type { Config, McpServerConfig } from '@angelia/contracts';
import { dryCall } from './dry-call.ts';
import { type Finding, fault, ok, warning } from './finding.ts';

/** That it can be reached or started; whether it works shows when an agent's run opens it. */
export function mcpFindings(config: Config, path: string, timeoutMs: number): Promise<Finding[]> {
  return Promise.all(
    Object.entries(config.mcp_servers).map(([name, server]) =>
      serverFinding(`mcp.${name}`, name, server, path, timeoutMs),
    ),
  );
}

async function serverFinding(
  check: string,
  name: string,
  server: McpServerConfig,
  path: string,
  timeoutMs: number,
): Promise<Finding> {
  if (server.command !== undefined)
    return commandFinding(check, name, server.command, server.cwd ?? '.', path);
  const url = server.url ?? '';
  // Opens the stream of what the server says by itself, or is told that there is none: either is an answer.
  const answer = await dryCall(
    { method: 'GET', url, headers: { accept: 'text/event-stream, application/json', ...server.headers } },
    timeoutMs,
  );
  if (answer.kind === 'unreachable') {
    return fault(
      check,
      `${url} cannot be reached: ${answer.reason}`,
      `start it, or correct mcp_servers.${name}.url`,
    );
  }
  const { status } = answer;
  if (status === 401 || status === 403) {
    return fault(
      check,
      `${url} refuses us (HTTP ${status})`,
      `put its credential into mcp_servers.${name}.headers`,
    );
  }
  if (status === 404 || (status >= 300 && status < 400)) {
    return fault(
      check,
      `${url} is no MCP server (HTTP ${status})`,
      `correct mcp_servers.${name}.url: its path often is /mcp`,
    );
  }
  if (status >= 500) return warning(check, `${url} answers HTTP ${status}`, 'look at its own log');
  return ok(check, `${url} answers`);
}

function commandFinding(check: string, name: string, command: string, cwd: string, path: string): Finding {
  const places = command.includes('/')
    ? [isAbsolute(command) ? command : resolve(cwd, command)]
    : path.split(delimiter).map((directory) => resolve(directory, command));
  const found = places.find(isExecutable);
  if (found !== undefined) return ok(check, `${found} is there`);
  return fault(
    check,
    `there is no program ${command}${command.includes('/') ? '' : ' in PATH'}`,
    `install it where agent-runner runs, or correct mcp_servers.${name}.command`,
  );
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return statSync(path).isFile();
  } catch {
    return false; // not there, or not for us
  }
}

import { accessSync, constants, statSync } from 'node:fs';
import { delimiter, isAbsolute, resolve } from 'node:path';
import type { Config, McpServerConfig } from '@angelia/contracts';
import { dryCall } from './dry-call.ts';
import { type Finding, fault, ok, warning } from './finding.ts';

/** Checks that each server can be reached or started. Whether it works shows only when a run opens it. */
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
  // Opens the server's event stream. "There is none" is an answer as well.
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
      `${url} refuses the request (HTTP ${status})`,
      `put a valid credential into mcp_servers.${name}.headers`,
    );
  }
  if (status === 404 || (status >= 300 && status < 400)) {
    return fault(
      check,
      `${url} is not an MCP server (HTTP ${status})`,
      `correct mcp_servers.${name}.url: the path is often /mcp`,
    );
  }
  if (status >= 500) return warning(check, `${url} answers HTTP ${status}`, 'look at the log of that server');
  return ok(check, `${url} answers`);
}

function commandFinding(check: string, name: string, command: string, cwd: string, path: string): Finding {
  const places = command.includes('/')
    ? [isAbsolute(command) ? command : resolve(cwd, command)]
    : path.split(delimiter).map((directory) => resolve(directory, command));
  const found = places.find(isExecutable);
  if (found !== undefined) return ok(check, `${found} exists`);
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
    return false; // missing, or not executable
  }
}

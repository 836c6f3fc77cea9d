export { runCli } from './cli.ts';
export { type Command, type Context, defineCommand } from './command.ts';
export { commands } from './commands/table.ts';
export { cliDocument } from './document.ts';
export { CliError, EXIT, type ExitCode } from './exit.ts';
export type { World } from './world.ts';

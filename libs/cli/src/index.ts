export { commands } from './commands/all-commands.ts';

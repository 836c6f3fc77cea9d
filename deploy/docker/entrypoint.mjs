// Which program this container is: the first argument. Imported, not spawned, so that signals reach the service itself.
const programs = {
  ingress: '../../services/ingress/dist/main.js',
  'agent-runner': '../../services/agent-runner/dist/main.js',
  delivery: '../../services/delivery/dist/main.js',
  'process-watcher': '../../services/process-watcher/dist/main.js',
  migrate: '../../libs/event-log/dist/commands/migrate.js',
  import: '../../libs/event-log/dist/commands/import.js',
  prune: '../../libs/service-kit/dist/commands/prune.js',
  rebuild: '../../libs/service-kit/dist/commands/rebuild.js',
  'check-config': '../../libs/service-kit/dist/commands/check-config.js',
};

const name = process.argv[2] ?? '';
const program = Object.hasOwn(programs, name) ? programs[name] : undefined;
if (program === undefined) {
  console.error(`angelia: unknown program \`${name}\`: name one of ${Object.keys(programs).join(', ')}`);
  process.exit(78);
}
process.argv.splice(2, 1);
// The first process of a container has no default action for signals: until the program listens for them itself, and
// where it never does (migrate), a stop would be unheard and end in SIGKILL.
for (const [signal, number] of [
  ['SIGTERM', 15],
  ['SIGINT', 2],
]) {
  process.on(signal, () => {
    if (process.listenerCount(signal) === 1) process.exit(128 + number);
  });
}
await import(program);

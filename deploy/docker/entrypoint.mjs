// Runs the program that the first argument names. Imported, not spawned, so that signals reach the service itself.
const programs = {
  ingress: '../../dist/ingress.js',
  'agent-runner': '../../dist/agent-runner.js',
  delivery: '../../dist/delivery.js',
  'process-watcher': '../../dist/process-watcher.js',
  migrate: '../../dist/migrate.js',
  import: '../../dist/import.js',
  prune: '../../dist/prune.js',
  rebuild: '../../dist/rebuild.js',
  'check-config': '../../dist/check-config.js',
};

const name = process.argv[2] ?? '';
const program = Object.hasOwn(programs, name) ? programs[name] : undefined;
if (program === undefined) {
  console.error(`angelia: unknown program \`${name}\`: give one of ${Object.keys(programs).join(', ')}`);
  process.exit(78);
}
process.argv.splice(2, 1);
// docker-compose.yml mounts this directory there. In angelia.sh, too.
if (process.env.ANGELIA_CONFIG_DIRECTORY) process.env.ANGELIA_CONFIG = '/etc/angelia/live/angelia.yaml';
// The first process of a container has no default action for signals. Until the program handles them, or if it never does
// (migrate), a stop would be ignored and end in SIGKILL.
for (const [signal, number] of [
  ['SIGTERM', 15],
  ['SIGINT', 2],
]) {
  process.on(signal, () => {
    if (process.listenerCount(signal) === 1) process.exit(128 + number);
  });
}
await import(program);

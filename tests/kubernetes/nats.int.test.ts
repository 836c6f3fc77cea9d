import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { promisify } from 'node:util';
import { expect, it } from '@jest/globals';
import { containersOf, idOf, type JsonMap, listAt, mapAt } from './object.ts';
import { renderVariant, repository } from './overlays.ts';

/** Where the launcher finds or installs nats-server. It runs before all int tests. */
const PATH = [process.env.PATH, '/usr/sbin', '/usr/local/bin', join(repository, '.cache', 'nats')].join(
  delimiter,
);
/** nats.conf would read this password as a number without quotes. */
const TOKEN = '12e3';

it.each(['dev', 'production'] as const)('nats-server accepts the config of %s', async (overlay) => {
  const { config, args, environment } = natsOf(overlay);
  expect(await check(config, args, environment)).toContain('configuration file');
  // It really reads the file: it refuses an unknown key.
  await expect(check(`${config}\nlisten_on: 1\n`, args, environment)).rejects.toThrow(
    /unknown field "listen_on"/,
  );
});

function natsOf(overlay: 'dev' | 'production') {
  const objects = renderVariant(overlay);
  const set = objects.find((object) => idOf(object) === 'StatefulSet/nats');
  const [container] = set === undefined ? [] : containersOf(set);
  const file = objects.find(
    ({ kind, metadata }) => kind === 'ConfigMap' && metadata.name.startsWith('nats-config-'),
  );
  const given: Record<string, string> = { NATS_TOKEN: TOKEN, POD_NAME: 'nats-0' };
  const filled = (text: unknown) =>
    String(text).replace(/\$\((\w+)\)/g, (_, name: string) => given[name] ?? '?');
  for (const variable of listAt(container, 'env') as JsonMap[]) {
    if (variable.value !== undefined) given[String(variable.name)] = filled(variable.value);
  }
  return {
    config: String(mapAt(file, 'data')['nats.conf']),
    args: listAt(container, 'args').map(filled),
    environment: given,
  };
}

async function check(config: string, args: readonly string[], environment: Readonly<Record<string, string>>) {
  const directory = mkdtempSync(join(tmpdir(), 'angelia-nats-conf-'));
  try {
    const file = join(directory, 'nats.conf');
    writeFileSync(file, config);
    const placed = args.map((arg) => arg.replace('/etc/nats/nats.conf', file));
    const { stdout, stderr } = await promisify(execFile)('nats-server', [...placed, '-t'], {
      env: { ...environment, PATH },
    });
    return stdout + stderr;
  } finally {
    rmSync(directory, { recursive: true });
  }
}

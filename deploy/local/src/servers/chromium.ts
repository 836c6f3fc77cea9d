import { execFile } from 'node:child_process';
import { accessSync, constants, existsSync } from 'node:fs';
import { chmod, mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { delimiter, join } from 'node:path';
import { promisify } from 'node:util';
import { brotliDecompress } from 'node:zlib';
import { lockWhenFree } from '../../bootstrap/lock.mjs';
import { type Package, provide } from '../../bootstrap/toolchain.mjs';
import { repositoryRoot } from '../data-directory/layout.ts';
import { LaunchError } from '../launch-error.ts';

const run = promisify(execFile);
const decompress = promisify(brotliDecompress);

export interface Chromium {
  readonly executable: string;
  /** To add to the environment of the browser. */
  readonly env: Readonly<Record<string, string>>;
}

/**
 * Carries a headless Chromium for Linux on x64 with the libraries that it needs (NSS, expat) and one font: 70 MB to fetch,
 * 213 MB unpacked. It needs glibc 2.25 or newer and nothing else of the system, neither root nor a package. (Debian's own
 * package is 96 MB, and 204 MB with all it depends on.) To change the version: see bootstrap/toolchain.mjs.
 */
export const CHROMIUM: Package = {
  name: '@sparticuz/chromium',
  version: '153.0.0',
  integrity:
    'sha512-jiGWqSvPMdu4+P9TilYqAR7yEGPEHINx+lCvE/NqNO/EHYzF/x1hUiI5T6ioVIt7dEy7n88byyT0vk+dnsgQwA==',
};

const HOW_TO_GET_IT =
  'the console is tested in a real browser and none was found: install Chrome or Chromium (Debian, Ubuntu: apt install chromium; macOS: brew install --cask google-chrome), or set CHROME_BIN to one';

/** Names in PATH, and the places of macOS. */
const INSTALLED = ['chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable', 'chrome'];
const INSTALLED_ON_MACOS = [
  '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome',
  '/Applications/Chromium.app/Contents/MacOS/Chromium',
];

interface FindOptions {
  readonly chromeBin?: string | undefined;
  readonly path?: string;
  readonly platform?: string;
  /** Fetches our own. */
  readonly fetch?: (say: (line: string) => void) => Promise<Chromium>;
}

/**
 * Finds a browser for tests: CHROME_BIN, else our own copy where there is one for this platform, so that every run has the
 * same, else the one that is installed.
 */
export async function findChromium(
  say: (line: string) => void = () => {},
  options: FindOptions = {},
): Promise<Chromium> {
  const chosen = 'chromeBin' in options ? options.chromeBin : process.env.CHROME_BIN;
  if (chosen) {
    if (isExecutable(chosen)) return { executable: chosen, env: {} };
    throw new LaunchError('BROWSER_MISSING', `CHROME_BIN is not a program that can be run: ${chosen}`);
  }
  let reason = '';
  if ((options.platform ?? `${process.platform}-${process.arch}`) === 'linux-x64') {
    try {
      return await (options.fetch ?? ourOwn)(say);
    } catch (error) {
      reason = error instanceof Error ? error.message : String(error);
    }
  }
  const directories = (options.path ?? process.env.PATH ?? '').split(delimiter).filter((dir) => dir !== '');
  const candidates = [
    ...INSTALLED.flatMap((name) => directories.map((directory) => join(directory, name))),
    ...(options.path === undefined && process.platform === 'darwin' ? INSTALLED_ON_MACOS : []),
  ];
  const installed = candidates.find(isExecutable);
  if (installed === undefined)
    throw new LaunchError('BROWSER_MISSING', reason === '' ? HOW_TO_GET_IT : `${HOW_TO_GET_IT} (${reason})`);
  if (reason !== '') say(`using ${installed}, because: ${reason}`);
  return { executable: installed, env: {} };
}

/** Unpacked once into .cache/chromium. The package is fetched into .cache/toolchain, and npm checks its hash. */
async function ourOwn(say: (line: string) => void): Promise<Chromium> {
  const home = join(repositoryRoot, '.cache', 'chromium', CHROMIUM.version);
  const found = {
    executable: join(home, 'chromium'),
    env: { LD_LIBRARY_PATH: join(home, 'lib'), FONTCONFIG_FILE: join(home, 'fonts.conf') },
  };
  if (existsSync(home)) return found;
  const lock = await lockWhenFree(join(repositoryRoot, '.cache', 'chromium.lock'));
  try {
    if (existsSync(home)) return found;
    const archives = join(await provide(repositoryRoot, [CHROMIUM], `Chromium ${CHROMIUM.version}`), 'bin');
    say('unpacking Chromium (once, into .cache/chromium)');
    // Renamed when it is complete, so that a killed run leaves no half browser.
    const making = `${home}.new`;
    await rm(making, { recursive: true, force: true });
    await mkdir(making, { recursive: true });
    await unpack(archives, making);
    // A system that cannot run it (musl, an old glibc) must say so here, and not in every test.
    await run(join(making, 'chromium'), ['--version'], {
      env: { ...process.env, LD_LIBRARY_PATH: join(making, 'lib') },
    });
    await rename(making, home);
    return found;
  } finally {
    lock.release();
  }
}

async function unpack(archives: string, to: string): Promise<void> {
  const take = async (name: string) => decompress(await readFile(join(archives, `${name}.br`)));
  await writeFile(join(to, 'chromium'), await take('chromium'));
  await chmod(join(to, 'chromium'), 0o755);
  for (const name of ['al2023.tar', 'fonts.tar']) {
    await writeFile(join(to, name), await take(name));
    await run('tar', ['-xf', name], { cwd: to });
    await rm(join(to, name));
  }
  // The package's own file names directories of AWS Lambda.
  await writeFile(join(to, 'fonts.conf'), FONTS_CONF);
}

/** The font of the package first, so that a page looks the same on every machine. The system's fonts have what it lacks. */
const FONTS_CONF = `<?xml version="1.0"?>
<!DOCTYPE fontconfig SYSTEM "fonts.dtd">
<fontconfig>
  <dir prefix="relative">fonts</dir>
  <dir>/usr/share/fonts</dir>
  <alias binding="same"><family>sans-serif</family><prefer><family>Open Sans</family></prefer></alias>
  <alias binding="same"><family>system-ui</family><prefer><family>Open Sans</family></prefer></alias>
  <alias binding="same">
    <family>monospace</family>
    <prefer><family>DejaVu Sans Mono</family><family>Liberation Mono</family></prefer>
  </alias>
</fontconfig>
`;

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

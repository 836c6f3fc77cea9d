import { open, rename } from 'node:fs/promises';
import { dirname } from 'node:path';

/** Afterwards the file is there completely or not at all. `durable`: also after a power failure. */
export async function writeFileWhole(
  path: string,
  text: string,
  options: { readonly durable: boolean },
): Promise<void> {
  const temporary = `${path}.tmp`;
  const file = await open(temporary, 'w', 0o600);
  try {
    await file.writeFile(text);
    if (options.durable) await file.sync();
  } finally {
    await file.close();
  }
  await rename(temporary, path);
  if (options.durable) await syncDirectory(dirname(path));
}

/** A new name in a directory survives a power failure only if the directory was synced. */
export async function syncDirectory(path: string): Promise<void> {
  const directory = await open(path, 'r');
  try {
    await directory.sync();
  } finally {
    await directory.close();
  }
}

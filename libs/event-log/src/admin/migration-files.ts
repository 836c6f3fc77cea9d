import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';

export interface Migration {
  readonly number: number;
  readonly name: string;
  readonly text: string;
  /** An applied migration is never edited: a database with the old one would differ from what the program expects. */
  readonly checksum: string;
}

const FILE = /^(\d{3})_(.+)\.sql$/;

export async function readMigrations(): Promise<Migration[]> {
  const directory = new URL('../sql/', import.meta.url);
  const migrations: Migration[] = [];
  for (const file of (await readdir(directory)).sort()) {
    const [, number, name] = FILE.exec(file) ?? [];
    if (number === undefined || name === undefined) continue;
    const text = await readFile(new URL(file, directory), 'utf8');
    migrations.push({
      number: Number(number),
      name: file,
      text,
      checksum: createHash('sha256').update(text).digest('hex'),
    });
  }
  return migrations;
}

export { type HermesFiles, HermesUnreadable, type Imported, importHermes } from './import.ts';
export type { Note } from './notes.ts';
export { renderImport } from './render.ts';

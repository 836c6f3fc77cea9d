export { createTemplateDatabase, createTestDatabase, type TestDatabase } from './database.ts';
export { insertRaw, type RawRow } from './raw-insert.ts';

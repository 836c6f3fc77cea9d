export { insertRaw, type RawRow } from './raw-insert.ts';
export { createTemplateDatabase, createTestDatabase, type TestDatabase } from './test-database.ts';

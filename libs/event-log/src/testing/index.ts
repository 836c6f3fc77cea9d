export { readForRelay } from '../relay/read-for-relay.ts';
export { insertRaw, type RawRow } from './raw-insert.ts';
export { createTemplateDatabase, createTestDatabase, PATIENT, type TestDatabase } from './test-database.ts';

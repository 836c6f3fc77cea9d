export { createTestDatabase, type TestDatabase } from '@angelia/event-log/testing';

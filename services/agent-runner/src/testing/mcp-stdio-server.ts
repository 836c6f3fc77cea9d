import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js';
import { testTools } from './mcp-tools.ts';

const [how] = process.argv.slice(2);
if (how === 'broken') {
  process.stderr.write('no such module\n');
  process.exit(1);
}
if (how === 'talkative') {
  // Like a program that logs its settings when it starts.
  const given = process.env.GIVEN_NAME ?? '';
  process.stderr.write(
    `settings: ${JSON.stringify({ given })} ${Buffer.from(`me:${given}`).toString('base64')}\n`,
  );
  process.stderr.write(`${'x'.repeat(1_990)}${given}\n`);
  process.stderr.write('ready\n');
}
await testTools().connect(new StdioServerTransport());

import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js';
import { testTools } from './mcp-tools.ts';

const [how] = process.argv.slice(2);
if (how === 'broken') {
  process.stderr.write('no such module\n');
  process.exit(1);
}
await testTools().connect(new StdioServerTransport());

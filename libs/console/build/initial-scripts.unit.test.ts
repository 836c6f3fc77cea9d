import { expect, it } from '@jest/globals';
import { initialScripts } from './initial-scripts.mjs';

it('counts the entry and everything that it imports, and not what is loaded when it is opened', () => {
  expect(
    initialScripts({
      'index.html': { file: 'assets/main.js', isEntry: true, imports: ['_react.js', '_shared.js'] },
      '_react.js': { file: 'assets/react.js' },
      '_shared.js': { file: 'assets/shared.js', imports: ['_deep.js', '_react.js'] },
      '_deep.js': { file: 'assets/deep.js', imports: ['_shared.js'] },
      'src/chart.tsx': { file: 'assets/chart.js', imports: ['_react.js'] },
      'style.css': { file: 'assets/style.css' },
    }),
  ).toEqual(['assets/main.js', 'assets/react.js', 'assets/shared.js', 'assets/deep.js']);
});

// How the console is bundled. build/build.mjs calls Vite with this for the ordinary build. `npx vite` in this directory serves
// the sources with hot reloading, in front of a gateway that runs at ANGELIA_URL.

import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vite';

const gateway = process.env.ANGELIA_URL ?? 'http://127.0.0.1:8644';

export default defineConfig({
  root: fileURLToPath(new URL('.', import.meta.url)),
  base: '/console/',
  build: {
    // Browsers that know `light-dark()`.
    target: ['chrome123', 'edge123', 'firefox120', 'safari17.5'],
    // The CSP of the page allows no `data:` scripts or fonts, and files with hashes are cached for ever.
    assetsInlineLimit: 0,
    // Every browser above preloads modules by itself.
    modulePreload: { polyfill: false },
    reportCompressedSize: false,
    manifest: true,
  },
  server: {
    proxy: {
      '/v1': gateway,
      '/console/session': gateway,
      '/openapi.json': gateway,
    },
  },
});

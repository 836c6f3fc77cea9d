import manifest from '../package.json' with { type: 'json' };

/** Of this program: all packages have the same. */
export const VERSION: string = manifest.version;

// Where the time of a test run goes: prints the ten slowest files and writes all files by tier to .cache/test-times.json, with
// their CPU (cpu.mjs). docs/testing.md has the table of past and present times.

import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { cpuOfFiles, forgetCpu } from './cpu.mjs';

const SHOWN = 10;

export default class TestTimes {
  #root;
  #startedAt = performance.now();

  constructor(globalConfig) {
    this.#root = globalConfig.rootDir;
    forgetCpu(this.#root);
  }

  onRunComplete(_contexts, { testResults }) {
    const cpu = cpuOfFiles(this.#root);
    const files = testResults
      .filter(({ skipped }) => !skipped)
      .map(({ testFilePath, perfStats, numPassingTests, numFailingTests }) => ({
        file: relative(this.#root, testFilePath),
        tier: /\.(\w+)\.test\.ts$/.exec(testFilePath)?.[1] ?? 'unknown',
        seconds: perfStats.runtime / 1000,
        cpu_seconds: cpu.get(relative(this.#root, testFilePath)),
        tests: numPassingTests + numFailingTests,
      }))
      .sort((a, b) => b.seconds - a.seconds);
    if (files.length <= 1) return;
    const tiers = {};
    for (const { tier, seconds, tests } of files) {
      tiers[tier] ??= { files: 0, tests: 0, seconds: 0 };
      tiers[tier].files += 1;
      tiers[tier].tests += tests;
      tiers[tier].seconds += seconds;
    }
    const wallSeconds = (performance.now() - this.#startedAt) / 1000;
    const path = join(this.#root, '.cache', 'test-times.json');
    mkdirSync(dirname(path), { recursive: true });
    const kept = { wall_seconds: wallSeconds, tiers, files: [...files, ...this.#notRun(path, files)] };
    writeFileSync(path, `${JSON.stringify(kept, null, 2)}\n`);
    const lines = files
      .slice(0, SHOWN)
      .map(({ file, seconds }) => `${seconds.toFixed(1).padStart(7)} s  ${file}`);
    const sums = Object.entries(tiers)
      .map(([tier, { files: count, seconds }]) => `${tier} ${seconds.toFixed(0)} s in ${count} files`)
      .join(', ');
    process.stderr.write(`\nSlowest files (all in .cache/test-times.json; ${sums}):\n${lines.join('\n')}\n`);
  }

  /** The last times of files that did not run this time, because the order of the next whole run depends on them. */
  #notRun(path, ran) {
    try {
      const names = new Set(ran.map(({ file }) => file));
      const { files } = JSON.parse(readFileSync(path, 'utf8'));
      return files.filter(({ file }) => !names.has(file) && existsSync(join(this.#root, file)));
    } catch {
      return []; // the first run on this machine
    }
  }
}

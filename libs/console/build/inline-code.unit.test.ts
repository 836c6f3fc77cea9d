import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from '@jest/globals';
import { inlineCode } from './inline-code.mjs';

const libs = join(import.meta.dirname, '..');

it.each([
  ['<script>1</script>', '<script>'],
  ['<script type="module">1</script>', '<script type="module">'],
  ['<style media="all">a{}</style>', '<style media="all">'],
  ['<p class="a" style="color: red">', '<p class="a" style="color: red">'],
  ['<img src="x" onerror="x()">', '<img src="x" onerror="x()">'],
])('the policy of the page forbids %s', (html, found) => {
  expect(inlineCode(html)).toEqual([found]);
});

it('the page has nothing that its policy forbids', () => {
  expect(
    inlineCode('<script type="module" src="/a.js"></script><link rel="stylesheet" href="/a.css">'),
  ).toEqual([]);
  expect(inlineCode(readFileSync(join(libs, 'index.html'), 'utf8'))).toEqual([]);
});

it('no source makes HTML or code of a text', () => {
  const forbidden =
    /dangerouslySetInnerHTML|\b(inner|outer)HTML\b|insertAdjacentHTML|document\.write|\beval\(|new Function\b|srcdoc/i;
  const sources = globSync('src/**/*.{ts,tsx}', { cwd: libs }).filter((file) => !file.endsWith('.test.ts'));
  expect(sources.length).toBeGreaterThan(50);
  expect(sources.filter((file) => forbidden.test(readFileSync(join(libs, file), 'utf8')))).toEqual([]);
});

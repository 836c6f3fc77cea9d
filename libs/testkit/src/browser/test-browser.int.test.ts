import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { listen } from '../network/http-server.ts';
import { eventually } from '../waiting/eventually.ts';
import { startTestBrowser, type TestBrowser } from './test-browser.ts';

/** To fetch 70 MB over a slow line, on a fresh machine. */
const FETCH_MS = 15 * 60_000;

let browser: TestBrowser;
let scratch: string;
let site: Awaited<ReturnType<typeof listen>>;

beforeAll(async () => {
  // For the screenshots of the tests that are made to fail.
  scratch = mkdtempSync(join(tmpdir(), 'angelia-browser-'));
  process.env.TMPDIR = scratch;
  browser = await startTestBrowser();
  site = await listen((request, response) => {
    if (request.url === '/missing') return void response.writeHead(404).end();
    const headers = request.url === '/strict' ? { 'content-security-policy': "default-src 'self'" } : {};
    response.writeHead(200, { 'content-type': 'text/html', ...headers });
    response.end('<!doctype html><title>a page</title><h1>Hello</h1>');
  });
}, FETCH_MS);

afterAll(async () => {
  await browser?.stop();
  await site?.stop();
  rmSync(scratch, { recursive: true, force: true });
});

/** Runs a script in a page. It waits for the script's promise, so that the page has done what the test is about. */
const visiting = (script: string, { path = '/', expected = [] as RegExp[] } = {}) =>
  browser.visit(
    async (page) => {
      await page.goto(`${site.url}${path}`);
      await page.evaluate(script);
    },
    { expected },
  );

/** The processes of a group that have not ended. */
function aliveIn(group: number): number[] {
  return readdirSync('/proc')
    .filter((entry) => /^\d+$/.test(entry))
    .filter((entry) => {
      try {
        const stat = readFileSync(`/proc/${entry}/stat`, 'utf8');
        const [state, , pgrp] = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
        return Number(pgrp) === group && state !== 'Z';
      } catch {
        return false;
      }
    })
    .map(Number);
}

describe('a test in the browser', () => {
  it('sees a page as a person does, in a context of its own', async () => {
    await browser.visit(async (page) => {
      await page.goto(site.url);
      expect(await page.getByRole('heading', { name: 'Hello' }).isVisible()).toBe(true);
      await page.evaluate("document.cookie = 'seen=1'");
    });
    await browser.visit(async (page) => {
      await page.goto(site.url);
      expect(await page.evaluate('document.cookie')).toBe('');
    });
  });

  it.each([
    ['logs an error', "console.error('broken')", 'console error: broken'],
    ['throws', "new Promise((go) => setTimeout(() => { go(); throw new Error('late') }))", 'uncaught: late'],
    ['loads what is missing', "fetch('/missing').then(() => {})", '404'],
    ['asks another host', "fetch('http://example.com/x').catch(() => {})", 'loopback: http://example.com/x'],
    ['asks another address', "fetch('http://192.0.2.1/x').catch(() => {})", 'loopback: http://192.0.2.1/x'],
    [
      'loads an image from elsewhere',
      "new Promise((go) => Object.assign(new Image(), { onerror: () => go(), src: 'http://example.com/i' }))",
      'loopback: http://example.com/i',
    ],
    [
      'opens a socket to elsewhere',
      "new Promise((go) => { new WebSocket('ws://example.com/s').onerror = () => go(); })",
      'loopback: ws://example.com/s',
    ],
  ])('fails if the page %s', async (_what, script, said) => {
    await expect(visiting(script)).rejects.toThrow(said);
  });

  it('fails if the page breaks its Content-Security-Policy', async () => {
    const inline = `new Promise((go) => {
      document.addEventListener('securitypolicyviolation', () => go());
      document.body.append(Object.assign(document.createElement('script'), { text: 'window.ran = true' }));
      if (window.ran) go();
    })`;
    await expect(visiting(inline, { path: '/strict' })).rejects.toThrow('Policy: script-src-elem inline');
    await expect(visiting(inline)).resolves.toBeUndefined();
  });

  it('fails at once if the page broke, and does not wait for what it may never show', async () => {
    const waiting = browser.visit(async (page) => {
      await page.goto(site.url);
      await page.evaluate("console.error('broken')");
      await page.getByText('never shown').waitFor({ timeout: 0 });
    });
    await expect(waiting).rejects.toThrow('console error: broken');
  });

  it('passes if it expects the problem, and only that one', async () => {
    const both = "console.error('expected'); console.error('not so')";
    await visiting("console.error('expected')", { expected: [/expected/] });
    await expect(visiting(both, { expected: [/expected/] })).rejects.toThrow('not so');
  });

  it('that fails has a screenshot of every page', async () => {
    const failure = await browser
      .visit(async (page) => {
        await page.goto(site.url);
        throw new Error('the claim of the test');
      })
      .then(
        () => '',
        (error: Error) => error.message,
      );
    expect(failure).toContain('the claim of the test');
    const picture = /: (\/.*\.png)$/m.exec(failure)?.[1] ?? '-';
    expect(existsSync(picture)).toBe(true);
  });
});

// Only Linux tells the processes of a group.
(existsSync('/proc/self/stat') ? describe : describe.skip)('the browser leaves no process', () => {
  it('when it is stopped', async () => {
    const own = await startTestBrowser();
    expect(aliveIn(own.pid).length).toBeGreaterThan(1);
    await own.stop();
    await eventually(() => aliveIn(own.pid).length === 0);
  });

  it('when the program that started it is killed (-9)', async () => {
    const module = new URL('test-browser.ts', import.meta.url).href;
    const script = `import { startTestBrowser } from '${module}'; console.log((await startTestBrowser()).pid);`;
    const program = spawn(process.execPath, ['--input-type=module', '-e', script], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    const [line] = await once(program.stdout, 'data');
    const pid = Number(String(line));
    expect(aliveIn(pid).length).toBeGreaterThan(1);
    program.kill('SIGKILL');
    await eventually(() => aliveIn(pid).length === 0);
  });
});

import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  answer,
  eventually,
  type ModelServer,
  type Sink,
  startModelServer,
  startSink,
  TEST_SINK_SECRET,
  testRoute,
} from '@angelia/testkit';
import { afterAll, describe, expect, it } from '@jest/globals';
import { addToStack, modelAt, stack } from '../shared-stack.ts';

let files: string;
let sink: Sink;
let model: ModelServer;

export function scriptsAndSkills(): void {
  addToStack(async () => {
    files = await mkdtemp(join(tmpdir(), 'angelia-files-'));
    await mkdir(join(files, 'scripts'));
    await mkdir(join(files, 'skills'));
    await writeFile(
      join(files, 'scripts', 'shorten'),
      `#!${process.execPath}
const payload = JSON.parse(require('fs').readFileSync(0, 'utf8'));
console.log(payload.text.includes('noise') ? '[SILENT]' : JSON.stringify({ text: payload.text.slice(0, 5) }));
`,
      { mode: 0o755 },
    );
    await writeFile(join(files, 'skills', 'tone.md'), 'Answer in one word.');
    sink = await startSink({ secret: TEST_SINK_SECRET });
    model = await startModelServer();
    return {
      models: { skilled: modelAt(model) },
      agents: { skilled: { kind: 'llm', model: 'skilled' } },
      routes: {
        worked: testRoute(sink.url, {
          agent: 'skilled',
          script: 'shorten',
          skills: ['tone'],
          filters: [{ not: { field: 'text', regex: '(?i)^draft' } }],
        }),
        straight: testRoute(sink.url, { agent: 'skilled', deliver_only: true, prompt: 'Deployed: {text}' }),
      },
      extra: { directories: { scripts: join(files, 'scripts'), skills: join(files, 'skills') } },
    };
  });

  afterAll(async () => {
    await model?.stop();
    await sink?.stop();
    await rm(files, { recursive: true, force: true });
  });

  describe('a route with filters, a script and a skill', () => {
    it('gives the model the output of the script, and the skill in its instructions', async () => {
      const { sessionId } = await stack.post({ route: 'worked', body: { text: 'hello world' } });
      await stack.waitForEnd(sessionId, { settled: true });
      const [request] = model.requests;
      expect(request?.input).toBe('hello');
      expect(JSON.stringify(request?.body.messages[0])).toContain('Answer in one word.');
      expect(sink.answersOf(sessionId)).toEqual(['answer to: hello']);
    });
  });

  describe('a route with deliver_only', () => {
    it('sends the rendered prompt once, despite a refusal of the target and a killed delivery, and asks no model', async () => {
      const asked = model.requests.length;
      sink.next(answer(503));
      const { sessionId } = await stack.post({ route: 'straight', body: { text: 'shop 1.2' } });
      await eventually(() => sink.received.some(({ payload }) => payload.session_id === sessionId));
      await stack.restarted('delivery', stack.kill('delivery'));
      await stack.waitForEnd(sessionId, { settled: true });
      expect(sink.answersOf(sessionId)).toEqual(['Deployed: shop 1.2']);
      expect(model.requests).toHaveLength(asked);
    });
  });
}

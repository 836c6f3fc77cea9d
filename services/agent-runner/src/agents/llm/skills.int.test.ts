import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { eventually, type ModelServer, startModelServer } from '@angelia/testkit';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { runnerFixture } from '../../testing/runner-fixture.ts';

let server: ModelServer;
let world: Awaited<ReturnType<typeof runnerFixture>>;
let directory: string;

beforeEach(async () => {
  directory = mkdtempSync(join(tmpdir(), 'angelia-skills-'));
  writeFileSync(join(directory, 'tone.md'), 'Be brief.');
  mkdirSync(join(directory, 'review'));
  writeFileSync(join(directory, 'review', 'SKILL.md'), 'Look at the tests first.');
  server = await startModelServer();
  world = await runnerFixture({
    modelUrl: server.baseUrl,
    agent: { system: 'You review.' },
    skillsDirectory: directory,
  });
});
afterEach(async () => {
  await server.stop();
  await world.stop();
  rmSync(directory, { recursive: true, force: true });
});

const ended = (id: Awaited<ReturnType<typeof world.create>>) =>
  eventually(async () => {
    const events = await world.events(id);
    return events.some((event) => event.type === 'session.ended') && events;
  });

describe('the skills of a session', () => {
  it('reach the model as part of its instructions, all of them, in order', async () => {
    const id = await world.create('the pull request', 'default', ['review', 'tone']);
    await world.runner('a').checkSession(id);
    await ended(id);
    const [system, user] = server.requests[0]?.body.messages ?? [];
    expect(system).toMatchObject({
      role: 'system',
      content: 'You review.\n\n# Skill: review\n\nLook at the tests first.\n\n# Skill: tone\n\nBe brief.',
    });
    expect(user).toMatchObject({ role: 'user', content: 'the pull request' });
  });

  it('fail the run for that reason when one is gone, and the model is not asked', async () => {
    const id = await world.create('the pull request', 'default', ['tone', 'review']);
    rmSync(join(directory, 'review'), { recursive: true });
    await world.runner('a').checkSession(id);
    const events = await ended(id);
    expect(server.requests).toEqual([]);
    expect(events.find((event) => event.type === 'run.failed')?.data).toMatchObject({
      code: 'skill_unavailable',
      message: expect.stringContaining('skill review: there is no file'),
    });
    expect(events.find((event) => event.type === 'session.final-response')?.data).toMatchObject({
      outcome: 'failed',
      text: expect.not.stringContaining(directory),
    });
  });
});

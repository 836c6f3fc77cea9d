import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { describe, expect, it } from '@jest/globals';

/** Links between the pages lead somewhere, and alerts to a place in docs/operate.md. */
const root = resolve(import.meta.dirname, '..');
const pages = [
  ...['README.md', 'ARCHITECTURE.md', 'CONTRIBUTING.md'].map((name) => join(root, name)),
  ...readdirSync(join(root, 'docs')).flatMap((name) =>
    name.endsWith('.md') ? [join(root, 'docs', name)] : [],
  ),
];
/** As GitHub makes them of headings, and those that are written as such because others rely on them. */
function anchorsOf(text: string): Set<string> {
  const headings = [...text.matchAll(/^#{1,6} (.+)$/gm)].map(([, heading = '']) =>
    heading
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N} _-]/gu, '')
      .replaceAll(' ', '-'),
  );
  return new Set([...headings, ...[...text.matchAll(/<a id="(.+?)">/g)].map(([, id = '']) => id)]);
}

function linksIn(text: string): { file: string; anchor: string }[] {
  const prose = text.replaceAll(/```.*?```/gs, '').replaceAll(/`[^`\n]*`/g, '');
  return [...prose.matchAll(/\]\(([^)\s]+)\)/g)]
    .map(([, to = '']) => to)
    .filter((to) => !/^[a-z]+:/.test(to))
    .map((to) => ({ file: to.split('#')[0] ?? '', anchor: to.split('#')[1] ?? '' }));
}

describe('the documents', () => {
  it.each(pages.map((page) => [relative(root, page), page]))(
    '%s has no link that leads nowhere',
    (_, page) => {
      const broken = linksIn(readFileSync(page, 'utf8')).filter(({ file, anchor }) => {
        const target = file === '' ? page : resolve(dirname(page), file);
        if (!existsSync(target)) return true;
        return anchor !== '' && !anchorsOf(readFileSync(target, 'utf8')).has(anchor);
      });
      expect(broken).toEqual([]);
    },
  );

  it('have a place for every symptom that an alert names', () => {
    const anchors = anchorsOf(readFileSync(join(root, 'docs/operate.md'), 'utf8'));
    const rules = join(root, 'deploy/observability/alerts.yml');
    const named = [...readFileSync(rules, 'utf8').matchAll(/docs\/operate\.md#([\w-]+)/g)];
    for (const anchor of [...named.map(([, id = '']) => id), ...RELIED_ON]) expect(anchors).toContain(anchor);
  });
});

/** By alert rules and by people's bookmarks: a heading may change, these may not. */
const RELIED_ON = [
  ...[
    'service-down',
    'not-ready',
    'no-leader',
    'event-loop-blocked',
    'postgres-slow',
    'postgres-full',
    'nats-lost',
  ],
  ...[
    'webhooks-not-taken',
    'webhooks-unauthorized',
    'nothing-happened',
    'runs-late',
    'answers-late',
    'deliveries-late',
  ],
  ...[
    'sessions-fail',
    'model-fails',
    'runs-lost',
    'processes-lost',
    'target-down',
    'deliveries-dead',
    'dead-letters',
  ],
  ...[
    'hints-fail',
    'relay-lag',
    'tail-hidden',
    'projection-lag',
    'consumer-lag',
    'session-hangs',
    'duplicates',
    'clock',
  ],
  ...['rotate', 'restore', 'upgrade', 'views'],
];

import { defineCommand } from '../command-line/command.ts';

interface ConsoleLink {
  readonly url: string;
  readonly expires_at: string;
}

export const openConsole = defineCommand({
  name: 'console',
  summary: 'print a link that signs a browser in to the console',
  description:
    'The link works once, within ten minutes. Whoever opens it has the rights of the admin token for twelve hours, or until ' +
    'they sign out. It begins with `public_url` of the config. If you reach ingress in another way, such as a forwarded port, ' +
    'put that address in place of the beginning.',
  examples: [
    { command: 'angelia console', does: 'a link for the browser on this machine' },
    { command: 'open "$(angelia console)"', does: 'opens it (macOS; elsewhere xdg-open)' },
  ],
  calls: ['post /v1/console/links'],
  run: async ({ api, out }) => {
    const link = await api().send<ConsoleLink>('POST', '/v1/console/links');
    out.answer(link, () => link.url);
    out.note('works once, within ten minutes; `angelia console` makes another');
    return undefined;
  },
});

/**
 * The text of a message as people read it: Slack escapes `&`, `<` and `>`, and writes links and mentions in angle brackets
 * (https://docs.slack.dev/messaging/formatting-message-text).
 */
export function plainText(mrkdwn: string): string {
  return mrkdwn
    .replaceAll(/<([^<>]*)>/g, (_whole, inside: string) => shown(inside))
    .replaceAll('&lt;', '<')
    .replaceAll('&gt;', '>')
    .replaceAll('&amp;', '&');
}

function shown(inside: string): string {
  const bar = inside.indexOf('|');
  const target = bar < 0 ? inside : inside.slice(0, bar);
  const label = bar < 0 ? '' : inside.slice(bar + 1);
  const [, kind = '', rest = ''] = /^([@#!]?)(.*)$/s.exec(target) ?? [];
  switch (kind) {
    case '@':
      return `@${label || rest}`;
    case '#':
      return `#${label || rest}`;
    case '!':
      // `<!here>`, `<!subteam^S123|@team>`, `<!date^1392734382^...|fallback>`
      return label || `@${rest.split('^', 1)[0]}`;
    default: {
      const url = target.replace(/^mailto:/, '');
      return label === '' || label === url || url.endsWith(`//${label}`) ? url : `${label} (${url})`;
    }
  }
}

/** Also `<@U123|name>`. */
export function mentionsOf(user: string): RegExp {
  return new RegExp(`<@${user.replaceAll(/[^A-Z0-9]/gi, '')}(?:\\|[^<>]*)?>`, 'g');
}

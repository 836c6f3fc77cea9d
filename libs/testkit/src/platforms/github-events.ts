import { createHmac, randomUUID } from 'node:crypto';

export interface GithubEventOptions {
  readonly event?: string;
  readonly action?: string;
  readonly repo?: string;
  readonly number?: number;
  readonly id: number;
  readonly body: string | null;
  readonly login?: string;
  readonly userId?: number;
  /** `User`, `Bot`, `Organization`. */
  readonly type?: string;
  readonly association?: string;
  /** Of a review comment: the first one of its thread. */
  readonly inReplyTo?: number;
  readonly pull?: boolean;
  /** Who caused the event, if it is not the author. */
  readonly sender?: { readonly id: number; readonly login: string; readonly type: string };
  readonly secret?: string;
  readonly createdAt?: string;
}

/** A webhook of GitHub about a comment: the fields that its documentation names, signed as GitHub signs. */
export function githubEvent(options: GithubEventOptions): {
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  readonly payload: Readonly<Record<string, unknown>>;
} {
  const {
    event = 'issue_comment',
    action = 'created',
    repo = 'octo/hello',
    number = 7,
    id,
    secret = '',
  } = options;
  const user = {
    id: options.userId ?? 583_231,
    login: options.login ?? 'octocat',
    node_id: 'MDQ6VXNlcjU4MzIzMQ==',
    type: options.type ?? 'User',
    site_admin: false,
  };
  const isReview = event === 'pull_request_review_comment';
  const comment = {
    id,
    node_id: `IC_${id}`,
    url: `https://api.github.com/repos/${repo}/issues/comments/${id}`,
    html_url: `https://github.com/${repo}/issues/${number}#issuecomment-${id}`,
    body: options.body,
    user,
    author_association: options.association ?? 'CONTRIBUTOR',
    performed_via_github_app: null,
    created_at: options.createdAt ?? new Date().toISOString(),
    updated_at: options.createdAt ?? new Date().toISOString(),
    ...(options.inReplyTo === undefined ? {} : { in_reply_to_id: options.inReplyTo }),
    ...(isReview ? { path: 'src/a.ts', diff_hunk: '@@ -1 +1 @@', commit_id: 'c0ffee', line: 3 } : {}),
  };
  const payload = {
    action,
    comment,
    ...(isReview
      ? { pull_request: { number, title: 'A change' } }
      : {
          issue: {
            number,
            title: 'A change',
            ...(options.pull === false
              ? {}
              : { pull_request: { url: `https://api.github.com/repos/${repo}/pulls/${number}` } }),
          },
        }),
    repository: { id: 1_296_269, full_name: repo, private: true },
    sender: options.sender ?? user,
  };
  const body = JSON.stringify(payload);
  return {
    payload,
    body,
    headers: {
      'content-type': 'application/json',
      'user-agent': 'GitHub-Hookshot/044aadd',
      'x-github-event': event,
      'x-github-delivery': randomUUID(),
      'x-hub-signature-256': `sha256=${createHmac('sha256', secret).update(body).digest('hex')}`,
    },
  };
}

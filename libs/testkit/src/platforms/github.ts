import {
  Malformed,
  type PlatformAnswer,
  type PlatformRequest,
  type StandIn,
  startStandIn,
} from './stand-in.ts';

interface GithubComment {
  readonly id: number;
  readonly repo: string;
  readonly number: number;
  /** The first comment of its review thread; null: it is not in one. */
  readonly thread: number | null;
  body: string;
  readonly createdAt: number;
  updatedAt: number;
}

export interface GithubStandIn extends StandIn {
  readonly comments: readonly GithubComment[];
  /** Comments of other people, oldest first. */
  addComments(repo: string, number: number, bodies: readonly string[], at?: number): void;
  /** From now on the conversation answers 403, as GitHub does. */
  lock(repo: string, number: number): void;
  /** Renames the repository. The old name answers with a redirect, as GitHub does. */
  rename(from: string, to: string): void;
}

/** "Body is too long (maximum is 65536 characters)". */
const MOST_CHARACTERS = 65_536;
const COMMENTS = /^\/repos\/([^/]+\/[^/]+)\/(?:issues|pulls)\/(\d+)\/comments(?:\/(\d+)\/replies)?$/;
const COMMENT = /^\/repos\/([^/]+\/[^/]+)\/(?:issues|pulls)\/comments\/(\d+)$/;
const isReview = (path: string): boolean => /^\/repos\/[^/]+\/[^/]+\/pulls\//.test(path);

/** GitHub's REST API for comments on issues and pull requests. Every number of every repository exists except 404. */
export async function startGithub(options: { readonly token: string }): Promise<GithubStandIn> {
  const comments: GithubComment[] = [];
  const locked = new Set<string>();
  const renamed = new Map<string, string>();
  let nextId = 1;
  let base = '';

  const add = (
    repo: string,
    number: number,
    body: string,
    at = Date.now(),
    thread: number | null = null,
  ): GithubComment => {
    const comment = { id: nextId++, repo, number, thread, body, createdAt: at, updatedAt: at };
    comments.push(comment);
    return comment;
  };

  function answer(request: PlatformRequest): PlatformAnswer {
    const { authorization, accept, 'user-agent': userAgent } = request.headers;
    if (authorization !== `Bearer ${options.token}`)
      return { status: 401, body: { message: 'Bad credentials' } };
    if (!userAgent)
      throw new Malformed('no User-Agent', { status: 403, body: { message: 'Request forbidden' } });
    if (accept !== 'application/vnd.github+json') throw new Malformed(`Accept: ${accept}`, { status: 415 });
    if (request.headers['x-github-api-version'] !== '2022-11-28') {
      throw new Malformed('X-GitHub-Api-Version', { status: 400 });
    }
    if (request.path === '/rate_limit') return { status: 200, body: { rate: { remaining: 5000 } } };
    const [, repo, id] = COMMENTS.exec(request.path) ?? COMMENT.exec(request.path) ?? [];
    if (repo === undefined || id === undefined) return { status: 404, body: { message: 'Not Found' } };
    const newName = renamed.get(repo);
    if (newName !== undefined) {
      const location = `${base}${request.path.replace(repo, newName)}?${request.query}`;
      return {
        status: request.method === 'GET' ? 301 : 307,
        headers: { location },
        body: { message: 'Moved Permanently' },
      };
    }
    const number = Number(id);
    if (COMMENT.test(request.path)) return patch(request, repo, number);
    if (number === 404) return { status: 404, body: { message: 'Not Found' } };
    return request.method === 'GET' ? list(request, repo, number) : create(request, repo, number);
  }

  function create(request: PlatformRequest, repo: string, number: number): PlatformAnswer {
    const body = bodyOf(request);
    if (locked.has(`${repo}#${number}`)) {
      return { status: 403, body: { message: 'Unable to create comment because issue is locked.' } };
    }
    const thread = COMMENTS.exec(request.path)?.[3];
    if (isReview(request.path) && thread === undefined) {
      throw new Malformed('a review comment needs a commit and a line', { status: 422 });
    }
    const comment = add(repo, number, body, Date.now(), thread === undefined ? null : Number(thread));
    return { status: 201, body: view(comment), headers: { location: `${base}/comments/${comment.id}` } };
  }

  function patch(request: PlatformRequest, repo: string, id: number): PlatformAnswer {
    if (request.method !== 'PATCH') return { status: 404, body: { message: 'Not Found' } };
    const comment = comments.find(
      (one) => one.id === id && one.repo === repo && (one.thread !== null) === isReview(request.path),
    );
    if (comment === undefined) return { status: 404, body: { message: 'Not Found' } };
    comment.body = bodyOf(request);
    comment.updatedAt = Date.now();
    return { status: 200, body: view(comment) };
  }

  function list(request: PlatformRequest, repo: string, number: number): PlatformAnswer {
    const perPage = Number(request.query.get('per_page') ?? 30);
    const page = Number(request.query.get('page') ?? 1);
    if (!(perPage >= 1 && perPage <= 100)) throw new Malformed(`per_page ${perPage}`, { status: 422 });
    const since = request.query.get('since');
    if (since !== null && !/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/.test(since)) {
      throw new Malformed(`since ${since}`, { status: 422 });
    }
    const all = comments.filter(
      (one) =>
        one.repo === repo &&
        one.number === number &&
        (one.thread !== null) === isReview(request.path) &&
        (since === null || one.updatedAt >= Math.floor(Date.parse(since) / 1000) * 1000),
    );
    const pages = Math.max(1, Math.ceil(all.length / perPage));
    const link = (to: number, rel: string) => {
      const query = new URLSearchParams(request.query);
      query.set('page', String(to));
      return `<${base}${request.path}?${query}>; rel="${rel}"`;
    };
    return {
      status: 200,
      body: all.slice((page - 1) * perPage, page * perPage).map(view),
      headers: page < pages ? { link: `${link(page + 1, 'next')}, ${link(pages, 'last')}` } : {},
    };
  }

  const standIn = await startStandIn({ isMessage: ({ method }) => method !== 'GET', answer });
  base = standIn.url;
  return {
    ...standIn,
    comments,
    addComments(repo, number, bodies, at) {
      for (const body of bodies) add(repo, number, body, at);
    },
    lock(repo, number) {
      locked.add(`${repo}#${number}`);
    },
    rename(from, to) {
      renamed.set(from, to);
    },
  };
}

function bodyOf(request: PlatformRequest): string {
  const given = request.body as { readonly body?: unknown } | undefined;
  const refuse = (message: string) =>
    new Malformed(message, {
      status: 422,
      body: { message: 'Validation Failed', errors: [{ resource: 'IssueComment', code: 'custom', message }] },
    });
  // A comment without visible text is blank, whatever is hidden in it.
  if (typeof given?.body !== 'string' || !/[^\s\p{Cf}]/u.test(given.body.replaceAll(/<!--.*?-->/g, ''))) {
    throw refuse("body can't be blank");
  }
  if (given.body.length > MOST_CHARACTERS) {
    throw refuse(`Body is too long (maximum is ${MOST_CHARACTERS} characters)`);
  }
  return given.body;
}

function view(comment: GithubComment): unknown {
  return {
    id: comment.id,
    node_id: `IC_${comment.id}`,
    url: `https://api.github.com/repos/${comment.repo}/issues/comments/${comment.id}`,
    html_url:
      comment.thread === null
        ? `https://github.com/${comment.repo}/issues/${comment.number}#issuecomment-${comment.id}`
        : `https://github.com/${comment.repo}/pull/${comment.number}#discussion_r${comment.id}`,
    ...(comment.thread === null ? {} : { in_reply_to_id: comment.thread }),
    body: comment.body,
    user: { login: 'angelia-bot' },
    created_at: isoSeconds(comment.createdAt),
    updated_at: isoSeconds(comment.updatedAt),
  };
}

function isoSeconds(at: number): string {
  return `${new Date(at).toISOString().slice(0, 19)}Z`;
}

/** Calls of the API that list something, and the view that shows the same list. */
const VIEWS: Readonly<Record<string, string>> = {
  '/v1/sessions': '/sessions',
  '/v1/deliveries': '/deliveries',
  '/v1/webhooks': '/webhooks',
  '/v1/dead-letters': '/deliveries',
  '/v1/questions': '/inbox',
  '/v1/approvals': '/inbox',
};

/** The address of the view for a call such as `/v1/sessions?status=waiting`: the filters have the same names. */
export function viewOf(list: string): string {
  const [path = '', query = ''] = list.split('?', 2);
  const view = VIEWS[path];
  if (view === undefined) return '/';
  const search = new URLSearchParams(query);
  if (path === '/v1/dead-letters') search.set('tab', 'dead-letters');
  const text = search.toString();
  return text === '' ? view : `${view}?${text}`;
}

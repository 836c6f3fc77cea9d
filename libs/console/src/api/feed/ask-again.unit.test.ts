import { expect, it } from '@jest/globals';
import { QueryClient, QueryObserver } from '@tanstack/react-query';
import { askAgain } from './ask-again.ts';

it('what happens while the first answer is on its way is asked for after it, once', async () => {
  const queries = new QueryClient();
  const first = Promise.withResolvers<string>();
  const answers = [first.promise, Promise.resolve('ended')];
  const observer = new QueryObserver(queries, {
    queryKey: ['session', 'a'],
    queryFn: () => answers.shift() ?? Promise.reject(new Error('asked too often')),
    retry: false,
  });
  const shown = Promise.withResolvers<void>();
  const stop = observer.subscribe(({ data }) => {
    if (data === 'ended') shown.resolve();
  });
  askAgain(queries, { queryKey: ['session'] });
  askAgain(queries, { queryKey: ['session'] });
  first.resolve('running');
  await shown.promise;
  stop();
  // A third time would have failed.
  expect(observer.getCurrentResult()).toMatchObject({ data: 'ended', isError: false });
  queries.clear();
});

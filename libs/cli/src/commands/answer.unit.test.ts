import { expect, it } from '@jest/globals';
import { answerJson, startCannedServer } from '../testing/canned-server.ts';
import { runRecorded } from '../testing/run-recorded.ts';

const ID = '01a1e281-20d9-7563-b8f1-427765d52c50';

it('answers the question that it has read, and no later one', async () => {
  const posted: { url: string | undefined; body: unknown }[] = [];
  const server = await startCannedServer((request, response, body) => {
    if (request.method === 'POST') {
      posted.push({ url: request.url, body: JSON.parse(body) });
      return answerJson(response, { session_id: ID }, 202);
    }
    answerJson(
      response,
      request.url?.endsWith('/events')
        ? {
            items: [
              {
                type: 'clarification.requested',
                data: { clarification_id: 'q-2', question: 'Which?', choices: ['Red', 'Blue'] },
              },
            ],
          }
        : { id: ID, clarification: { id: 'q-2', deadline: '2030-01-01T00:00:00.000Z' } },
    );
  });
  try {
    expect(await runRecorded(['answer', ID, '--choice', '2'], { env: server.env })).toMatchObject({
      code: 0,
    });
    expect(posted).toEqual([
      { url: `/v1/sessions/${ID}/answers`, body: { clarification_id: 'q-2', answer: 'Blue' } },
    ]);
  } finally {
    await server.close();
  }
});

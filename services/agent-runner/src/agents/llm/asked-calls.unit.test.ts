import { describe, expect, it } from '@jest/globals';
import { withUniqueIds } from './asked-calls.ts';

const call = (id: string) => ({ id, name: 'terminal', arguments: '{}' });
const responded = (...ids: string[]) => ({ type: 'model.responded', data: { tool_calls: ids.map(call) } });
const idsOf = (ids: string[], events: Parameters<typeof withUniqueIds>[1] = []) =>
  withUniqueIds(ids.map(call), events, { turn: 2, step: 3 }).map(({ id }) => id);

describe('the ids of recorded calls', () => {
  it('stay as the model gave them when they are new', () => {
    expect(idsOf(['toolu_01-A', 'call_9'], [responded('other')])).toEqual(['toolu_01-A', 'call_9']);
  });

  it('are replaced when the session has had them, the model repeats them, or they are no ids', () => {
    expect(idsOf(['call_1'], [responded('call_1')])).toEqual(['call_2_3_1']);
    expect(idsOf(['same', 'same', '', 'a b', 'x'.repeat(65)])).toEqual([
      'same',
      'call_2_3_2',
      'call_2_3_3',
      'call_2_3_4',
      'call_2_3_5',
    ]);
  });

  it('also differ from those that a continuation inherited', () => {
    const inherited = {
      type: 'turn.requested',
      data: { history: [{ role: 'assistant', content: '', tool_calls: [call('a'), call('call_2_3_1')] }] },
    };
    expect(idsOf(['a'], [inherited])).toEqual(['call_2_3_1_2']);
  });

  it('come with names and arguments that Postgres can store', () => {
    const [recorded] = withUniqueIds([{ id: 'a', name: 'x\u0000', arguments: '{"a":"\ud83d"}' }], [], {
      turn: 1,
      step: 1,
    });
    expect(recorded).toEqual({ id: 'a', name: 'x\ufffd', arguments: '{"a":"\ufffd"}' });
  });
});

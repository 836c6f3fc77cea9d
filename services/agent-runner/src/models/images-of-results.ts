import type { ModelImage, ModelMessage } from './model.ts';

/** The user did not send those of tools, and must not be taken for it. */
export const IMAGES_OF_RESULTS =
  '[The images of the results above, in their order. Those of an answer to your question are from the user; the tools ' +
  'sent all others.]';

/** Images that follow the results of a step, for protocols whose results are only text. */
interface ShownImages {
  readonly shown: readonly ModelImage[];
}

/** The messages, with the images of each step behind its last result: nothing may stand between a call and its results. */
export function withImages(messages: readonly ModelMessage[]): (ModelMessage | ShownImages)[] {
  let shown: ModelImage[] = [];
  return messages.flatMap((message, index): (ModelMessage | ShownImages)[] => {
    if (message.role !== 'tool') return [message];
    shown.push(...(message.images ?? []));
    if (shown.length === 0 || messages[index + 1]?.role === 'tool') return [message];
    const step = shown;
    shown = [];
    return [message, { shown: step }];
  });
}

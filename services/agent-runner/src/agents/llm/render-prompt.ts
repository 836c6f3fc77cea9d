import { readSkill } from '@angelia/config';
import type { EventData, LlmAgentConfig, RecordedFact, TranscriptMessage } from '@angelia/contracts';
import {
  cutAnswer,
  fenceNote,
  hasFence,
  type Message,
  markOfTurn,
  resultsAreFenced,
  resumeNote,
  transcript,
} from '@angelia/session';
import type { Loaded } from '@angelia/sessions';
import type { KeptReasoning, ModelImage, ModelMessage, ModelRequest, ToolSpec } from '../../models/model.ts';

/** Not every provider goes on with an answer that is the last message, so a user asks for the rest. */
const GO_ON =
  '[Your answer was cut off by the limit of its length. Go on exactly where it stopped, in the middle of the word if ' +
  'need be. Repeat nothing, and do not mention the interruption.]';

/** For sessions whose answers bring files along. Only `terminal` writes any. */
const FILES_NOTE =
  'Your answer can bring along up to four files of your working directory. Name each with a Markdown link to its relative ' +
  'path, such as [report](report.csv) or ![plot](out/plot.png).';

/**
 * What the model is given: the agent's system prompt, the route's skills, what MCP servers say about their tools, a note about foreign text, a note if the run
 * was resumed, and the recorded conversation. The session names the skills; their text is what the files say now.
 *
 * @throws SkillUnavailable
 */
export function renderPrompt(
  agent: Pick<LlmAgentConfig, 'system'>,
  skillsDirectory: string,
  { events, state }: Pick<Loaded, 'events' | 'state'>,
  tools: readonly ToolSpec[],
  aboutTools: readonly string[] = [],
): ModelRequest {
  const note = resumeNote(state);
  const rows = transcript(events);
  const turn = state.run?.turn ?? state.lastTurn;
  const skills = (state.created?.skills ?? []).map(
    (name) => `# Skill: ${name}\n\n${readSkill(skillsDirectory, name)}`,
  );
  return {
    // The resume note is in the system prompt, not in the conversation: one note, however often it was resumed (C4).
    system: [
      agent.system,
      ...skills,
      ...aboutTools,
      ...(state.created?.deliverFiles !== undefined && tools.some(({ name }) => name === 'terminal')
        ? [FILES_NOTE]
        : []),
      ...aboutFences(state, rows, tools),
      ...(note === null ? [] : [note]),
    ].join('\n\n'),
    messages: [
      ...asMessages(rows, keptReasoning(events, turn), imagesOf(events, turn)),
      ...(cutAnswer(events) === null ? [] : [{ role: 'user' as const, content: GO_ON }]),
    ],
    tools,
  };
}

/**
 * Names the mark of fences if the turn has one, or may get one with the result of a tool. The note does not change within
 * a run, so a provider's cache of the prompt stays valid. Sessions from before there were marks have no note.
 */
function aboutFences(
  state: Loaded['state'],
  rows: readonly TranscriptMessage[],
  tools: readonly ToolSpec[],
): string[] {
  const turn = state.run?.turn ?? state.lastTurn;
  const mark = markOfTurn(state, turn);
  if (mark === null) return [];
  const inUse =
    tools.some(({ name }) => resultsAreFenced(name)) || rows.some(({ content }) => hasFence(content, mark));
  return [fenceNote(inUse ? mark : null)];
}

/**
 * By the first call of each step of the turn. Providers want the thoughts of the current turn; those of earlier turns they
 * ignore, or count as input.
 */
function keptReasoning(events: Loaded['events'], turn: number): ReadonlyMap<string, KeptReasoning> {
  const kept = new Map<string, KeptReasoning>();
  for (const { type, data } of events) {
    if (type !== 'model.responded') continue;
    const { reasoning, tool_calls, turn: of } = data as EventData<'model.responded'>;
    const [first] = tool_calls;
    if (of === turn && reasoning !== undefined && first !== undefined) kept.set(first.id, reasoning);
  }
  return kept;
}

/** In characters of base64. Providers take requests of 20 MB and more. */
const MOST_IMAGE_DATA = 12 * 1024 * 1024;

const LEFT_OUT = '[Its images are left out here: there are newer ones.]';

/** The images of a turn. An empty list: they are left out. */
interface TurnImages {
  readonly turn: number;
  readonly ofInput: readonly ModelImage[];
  /** By the call that brought them. */
  readonly ofCalls: ReadonlyMap<string, readonly ModelImage[]>;
}

/** Those of the input, then the newest ones: each step sends them all again. */
function imagesOf(events: Loaded['events'], turn: number): TurnImages {
  let ofInput: readonly ModelImage[] = [];
  const brought: { readonly callId: string; readonly images: readonly ModelImage[] }[] = [];
  const askedBy = new Map<string, string>();
  for (const event of events) {
    const fact = event as RecordedFact;
    if (fact.type === 'turn.requested' && fact.data.turn === turn) ofInput = modelImages(fact.data);
    if (fact.type === 'clarification.requested' && fact.data.turn === turn)
      askedBy.set(fact.data.clarification_id, fact.data.call_id);
    const callId =
      fact.type === 'tool.finished' && fact.data.turn === turn
        ? fact.data.call_id
        : fact.type === 'clarification.answered'
          ? askedBy.get(fact.data.clarification_id)
          : undefined;
    if (callId !== undefined) brought.push({ callId, images: modelImages(fact.data as Pictured) });
  }
  const ofCalls = new Map<string, readonly ModelImage[]>();
  let left = MOST_IMAGE_DATA - sizeOf(ofInput);
  for (const { callId, images } of brought.toReversed()) {
    if (images.length === 0) continue;
    left -= sizeOf(images);
    ofCalls.set(callId, left < 0 ? [] : images);
  }
  return { turn, ofInput, ofCalls };
}

type Pictured = Pick<EventData<'tool.finished'>, 'images'>;

function modelImages({ images = [] }: Pictured): ModelImage[] {
  return images.map((image) => ({ mimeType: image.mime_type, data: image.data }));
}

function sizeOf(images: readonly ModelImage[]): number {
  return images.reduce((sum, image) => sum + image.data.length, 0);
}

/** The rows of a transcript as messages for a model. The call that a result answers has the tool's name. */
export function asMessages(
  rows: readonly Message[],
  kept: ReadonlyMap<string, KeptReasoning> = new Map(),
  images: TurnImages | null = null,
): ModelMessage[] {
  const names = new Map<string, string>();
  return rows.map((row): ModelMessage => {
    const { role, content } = row;
    if (role === 'user') {
      const isInput = images !== null && row.turn === images.turn && images.ofInput.length > 0;
      return { role, content, ...(isInput ? { images: images.ofInput } : {}) };
    }
    if (role === 'assistant') {
      for (const call of row.tool_calls ?? []) names.set(call.id, call.name);
      const reasoning = kept.get(row.tool_calls?.[0]?.id ?? '');
      return {
        role,
        content,
        toolCalls: row.tool_calls ?? [],
        ...(reasoning === undefined ? {} : { reasoning }),
      };
    }
    const callId = row.tool_call_id ?? '';
    const seen = images?.ofCalls.get(callId);
    const tool = names.get(callId) ?? '';
    if (seen?.length === 0) return { role, callId, tool, content: `${content}\n${LEFT_OUT}` };
    return { role, callId, tool, content, ...(seen === undefined ? {} : { images: seen }) };
  });
}

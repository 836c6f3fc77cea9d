import { type Answers, models, senders, targets, type Variable } from './choices.ts';

/** What the user chose: names of choices.ts, and the answers to their questions. */
export interface Chosen {
  readonly sender: string;
  readonly model: string;
  readonly target: string;
  readonly answers: Answers;
  /** Whether the model gets a key. A server of one's own may need none. */
  readonly modelHasKey: boolean;
}

export function choicesOf({ sender, model, target }: Pick<Chosen, 'sender' | 'model' | 'target'>) {
  const chosen = { sender: senders[sender], model: models[model], target: targets[target] };
  if (chosen.sender === undefined || chosen.model === undefined || chosen.target === undefined) {
    throw new Error(`init has no such choice: ${sender}, ${model}, ${target}`);
  }
  return { sender: chosen.sender, model: chosen.model, target: chosen.target };
}

/** The secrets that the config names, in its order. */
export function variablesOf(names: Pick<Chosen, 'sender' | 'model' | 'target'>): Variable[] {
  const { sender, model, target } = choicesOf(names);
  return [sender.secret, model.key, target.credential].filter((variable) => variable !== undefined);
}

/** The text of angelia.yaml. It holds no secret. */
export function composeConfig(chosen: Chosen): string {
  const { sender, model, target } = choicesOf(chosen);
  const { answers } = chosen;
  const targetLines = target.lines(answers);
  const key = model.key !== undefined && chosen.modelHasKey ? [`api_key: \${${model.key.name}}`] : [];
  return [
    '# Made by `angelia init`. docs/configure.md explains all keys; docs/examples has whole configs.',
    '# Secrets are in .env beside this file. Angelia takes a saved change without a restart.',
    '',
    '# Senders, and people who follow the link of a question, reach Angelia under this address.',
    '# public_url: https://hooks.example.com',
    '',
    'models:',
    '  main:',
    ...indented(2, [...model.lines(answers), ...key]),
    '',
    'agents:',
    '  # Routes use `default` unless they name another agent.',
    '  default:',
    '    model: main',
    '    system: You are a helpful agent. Finish the task you are given and answer with the result.',
    '    # What the model may use: clarify (asks a person), terminal (shell commands), mcp:<server>.',
    '    toolsets: []',
    '',
    ...(targetLines.length === 0 ? [] : ['targets:', `  ${chosen.target}:`, ...indented(2, targetLines), '']),
    'routes:',
    `  # POST /webhooks/${sender.route}`,
    `  ${sender.route}:`,
    ...indented(2, [
      `secret: \${${sender.secret.name}}`,
      ...sender.lines,
      `deliver: ${chosen.target}`,
      ...(target.extra === undefined ? [] : [`deliver_extra: ${target.extra(answers)}`]),
    ]),
    '',
  ].join('\n');
}

const indented = (levels: number, lines: readonly string[]) =>
  lines.map((line) => `${'  '.repeat(levels)}${line}`);

import { existsSync, mkdirSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { type Context, defineCommand } from '../command-line/command.ts';
import { CliError, EXIT } from '../exit.ts';
import type { Asker } from '../init/ask.ts';
import { type Answers, models, type Question, senders, targets, type Variable } from '../init/choices.ts';
import { readIfThere } from '../local-stack/files.ts';
import { writeForOwner } from '../owner-file.ts';
import { yesOption } from '../terminal/confirm.ts';

export const init = defineCommand({
  name: 'init',
  summary: 'write a first config: who sends, which model works, where the answer goes',
  description:
    'It asks a few questions, writes `angelia.yaml` and `.env`, and checks the credentials with calls that send no message. ' +
    'Secrets that are already in the environment or in `.env` are taken from there. With --yes it asks nothing: what has no ' +
    'option gets its default, and secrets that are not in the environment stay empty in `.env`.',
  options: {
    sender: { value: 'name', values: Object.keys(senders), summary: 'who sends webhooks' },
    model: { value: 'name', values: Object.keys(models), summary: 'whose model works on them' },
    target: { value: 'name', values: Object.keys(targets), summary: 'where answers go' },
    set: {
      value: 'key=value',
      many: true,
      summary: 'an answer, such as model=gpt-5-mini, base_url=..., chat_id=..., channel=..., url=...',
    },
    to: { value: 'directory', file: true, summary: 'where to write (this directory)' },
    'skip-check': { summary: 'make no calls to check the credentials' },
    force: { summary: 'overwrite an existing angelia.yaml' },
    ...yesOption,
  },
  examples: [
    { command: 'angelia init', does: 'asks, then writes angelia.yaml and .env' },
    {
      command: 'angelia init --yes --sender github --model openai --target github_comment',
      does: 'for a script: OPENAI_API_KEY and GITHUB_TOKEN come from the environment',
    },
  ],
  run: async (context) => {
    const { given, out, runtime } = context;
    const directory = resolve(runtime.cwd, given.text('to') ?? '.');
    const [configFile, envFile] = [join(directory, 'angelia.yaml'), join(directory, '.env')];
    if (existsSync(configFile) && !given.switch('force')) {
      throw new CliError(
        EXIT.refused,
        `${configFile} exists`,
        'give --force to overwrite it, or --to another directory',
      );
    }
    if (!given.switch('yes') && runtime.stdin.isTTY !== true) {
      throw new CliError(EXIT.usage, 'there is no terminal to ask questions', 'give --yes, and options');
    }
    const asker = given.switch('yes') ? null : (await import('../init/ask.ts')).openAsker(runtime);
    try {
      const names = await chooseAll(context, asker);
      const { choicesOf, composeConfig, variablesOf } = await import('../init/compose.ts');
      const chosen = choicesOf(names);
      const answers = await answerAll(context, asker, [
        ...chosen.model.questions,
        ...chosen.target.questions,
      ]);
      const { valuesIn, withVariables } = await import('../init/env-file.ts');
      const envText = readIfThere(envFile) ?? '';
      const known = { ...valuesIn(envText), ...setIn(runtime.env) };
      const values: Record<string, string | null> = {};
      for (const variable of variablesOf(names)) {
        const value = known[variable.name] ?? (await secretFor(variable, asker));
        if (value !== null || variable.optional !== true) values[variable.name] = value;
      }
      const has = (variable: Variable | undefined) =>
        variable === undefined || typeof values[variable.name] === 'string';
      const modelHasKey = chosen.model.key !== undefined && chosen.model.key.name in values;
      const text = composeConfig({ ...names, answers, modelHasKey });
      const { checkComposed } = await import('../init/check.ts');
      const asked = !given.switch('skip-check');
      const findings = await orUsage(() =>
        checkComposed(text, configFile, values, {
          model: asked && (has(chosen.model.key) || !modelHasKey),
          target: asked && has(chosen.target.credential),
        }),
      );
      const newEnvText = withVariables(envText, values);
      mkdirSync(directory, { recursive: true });
      writeForOwner(configFile, text);
      writeForOwner(envFile, newEnvText);
      const { renderFindings } = await import('@angelia/doctor');
      const missing = Object.keys(values).filter((name) => values[name] === null);
      const route = chosen.sender.route;
      // `npm start` looks for the config in the repository, where it runs.
      const isInRepository = existsSync(join(directory, 'deploy', 'local', 'start.mjs'));
      const where = isInRepository ? '' : `ANGELIA_CONFIG=${quoted(configFile)} `;
      out.answer({ files: [configFile, envFile], route, missing, findings }, () =>
        [
          `wrote ${configFile} and ${envFile}`,
          ...(findings.length === 0 ? [] : ['', ...renderFindings(findings)]),
          '',
          'next:',
          ...(missing.length === 0 ? [] : [`  fill in ${missing.join(', ')} in ${envFile}`]),
          `  ${chosen.sender.setUp}; URL: <your address>/webhooks/${route}; ${chosen.sender.secret.name} is in ${envFile}`,
          `  ${where}npm start`,
          `  ${where}./angelia send ${route} --wait      in a second terminal, for a test webhook`,
        ].join('\n'),
      );
      return findings.some(({ state }) => state === 'fault') ? EXIT.failed : undefined;
    } finally {
      asker?.close();
    }
  },
});

/** For a shell, so that the command can be pasted. */
function quoted(path: string): string {
  return /^[\w./-]+$/.test(path) ? path : `'${path.replaceAll("'", "'\\''")}'`;
}

async function chooseAll({ given }: Context, asker: Asker | null) {
  const choose = async (
    option: 'sender' | 'model' | 'target',
    question: string,
    from: Readonly<Record<string, { readonly label: string }>>,
    preset: string,
  ): Promise<string> => {
    const named = given.text(option);
    if (named !== null) return named;
    const options = Object.entries(from).map(([name, { label }]) => [name, label] as const);
    return asker === null ? preset : asker.choice(question, options);
  };
  const sender = await choose('sender', 'Who sends webhooks?', senders, 'other');
  const model = await choose('model', 'Whose model works on them?', models, 'echo');
  const possible = Object.entries(targets).filter(
    ([, target]) => target.senders === undefined || target.senders.includes(sender),
  );
  const target = await choose('target', 'Where do the answers go?', Object.fromEntries(possible), 'log');
  if (!possible.some(([name]) => name === target)) {
    const of = targets[target]?.senders?.join(', ');
    throw new CliError(
      EXIT.usage,
      `--target ${target} needs --sender ${of}: the place comes from its webhooks`,
    );
  }
  return { sender, model, target };
}

async function answerAll(
  { given }: Context,
  asker: Asker | null,
  questions: readonly Question[],
): Promise<Answers> {
  const set = new Map(given.texts('set').map(keyAndValue));
  const unknown = [...set.keys()].find((key) => !questions.some(({ name }) => name === key));
  if (unknown !== undefined) {
    const names = questions.map(({ name }) => name).join(', ');
    throw new CliError(
      EXIT.usage,
      `--set ${unknown}: not a question for this choice`,
      names === '' ? 'this choice has none' : `it has ${names}`,
    );
  }
  const answers: Record<string, string> = {};
  for (const question of questions) {
    const answer =
      set.get(question.name) ?? (await asker?.text(question.ask, question.default)) ?? question.default;
    if (answer === undefined) {
      throw new CliError(EXIT.usage, `give --set ${question.name}=... (${question.ask})`);
    }
    answers[question.name] = answer;
  }
  return answers;
}

function keyAndValue(pair: string): [key: string, value: string] {
  const [key = '', value = ''] = pair.split(/=(.*)/s);
  if (key !== '' && value !== '') return [key, value];
  throw new CliError(EXIT.usage, `--set ${pair}: give a key and a value, such as chat_id=-1001234567890`);
}

async function secretFor(variable: Variable, asker: Asker | null): Promise<string | null> {
  if (variable.make !== undefined) return variable.make();
  const typed = (await asker?.secret(variable.ask)) ?? '';
  return typed === '' ? null : typed;
}

/** The variables that have a value. */
function setIn(env: Readonly<Record<string, string | undefined>>): Readonly<Record<string, string>> {
  return Object.fromEntries(Object.entries(env).filter(([, value]) => value)) as Record<string, string>;
}

/** A wrong answer, such as an id that no platform has, is told as the config tells it, and nothing is written. */
async function orUsage<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if ((error as { code?: unknown }).code !== 'startup_refused') throw error;
    throw new CliError(EXIT.usage, (error as Error).message, 'nothing was written');
  }
}

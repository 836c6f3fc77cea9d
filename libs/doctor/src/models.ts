import type { Config, ModelConfig } from '@angelia/contracts';
import { at, dryCall } from './dry-call.ts';
import { type Finding, fault, ok, skipped, warning } from './finding.ts';

/** Asks for the list of models. That is free of charge and needs the same key as a model call. */
export function modelsFindings(config: Config, timeoutMs: number): Promise<Finding[]> {
  return Promise.all(
    Object.entries(config.models).map(([name, model]) =>
      modelFinding(`model.${name}`, name, model, timeoutMs),
    ),
  );
}

const BASE_URLS = { openai: 'https://api.openai.com/v1', anthropic: 'https://api.anthropic.com/v1' } as const;
/** The version that Anthropic's SDK sends. */
const ANTHROPIC_VERSION = '2023-06-01';

async function modelFinding(
  check: string,
  name: string,
  model: ModelConfig,
  timeoutMs: number,
): Promise<Finding> {
  if (model.provider === 'builtin') return ok(check, 'built in');
  const base =
    model.provider === 'openai-compatible' ? model.base_url : (model.base_url ?? BASE_URLS[model.provider]);
  const answer = await dryCall(
    {
      method: 'GET',
      // Anthropic lists twenty models unless asked for more.
      url: `${base.replace(/\/+$/, '')}/models${model.provider === 'anthropic' ? '?limit=1000' : ''}`,
      headers: { ...keyHeaders(model), ...model.headers },
    },
    timeoutMs,
  );
  if (answer.kind === 'unreachable') {
    return fault(
      check,
      `${base} cannot be reached: ${answer.reason}`,
      `let this machine reach it, or correct models.${name}.base_url`,
    );
  }
  const { status, body } = answer;
  if (status === 401 || status === 403) {
    return fault(
      check,
      `${base} refuses the key (HTTP ${status})`,
      `set models.${name}.api_key to a valid key`,
    );
  }
  if (status === 429 || status >= 500) {
    return warning(check, `${base} cannot answer now (HTTP ${status})`, 'run doctor again later');
  }
  const ids = idsIn(body);
  if (status !== 200 || ids === null) {
    return skipped(
      check,
      `${base} answers but has no list of models (HTTP ${status}): key and model were not checked`,
    );
  }
  if (ids.includes(model.model)) return ok(check, `${base} accepts the key and has ${model.model}`);
  return warning(
    check,
    `${base} accepts the key, but its list does not have ${model.model}`,
    `correct models.${name}.model, unless it is an alias that the list leaves out`,
  );
}

function keyHeaders({
  provider,
  api_key,
}: Exclude<ModelConfig, { provider: 'builtin' }>): Record<string, string> {
  if (provider === 'anthropic') {
    return {
      'anthropic-version': ANTHROPIC_VERSION,
      ...(api_key === undefined ? {} : { 'x-api-key': api_key }),
    };
  }
  return api_key === undefined ? {} : { authorization: `Bearer ${api_key}` };
}

function idsIn(body: unknown): unknown[] | null {
  const data = at(body, 'data');
  return Array.isArray(data) ? data.map((entry) => at(entry, 'id')) : null;
}

/** A provider of Hermes that uses a protocol of ours and an API key. */
export interface Provider {
  readonly provider: 'openai-compatible' | 'openai' | 'anthropic';
  readonly baseUrl?: string;
  /** Variables that may hold the key. The first one that is set counts. */
  readonly keys: readonly string[];
  /** The variable that overrides the address. */
  readonly baseUrlVariable?: string;
}

const compatible = (baseUrl: string, keys: readonly string[], baseUrlVariable?: string): Provider => ({
  provider: 'openai-compatible',
  baseUrl,
  keys,
  ...(baseUrlVariable === undefined ? {} : { baseUrlVariable }),
});

export const providers: Readonly<Record<string, Provider>> = {
  anthropic: { provider: 'anthropic', keys: ['ANTHROPIC_API_KEY'] },
  openai: { provider: 'openai', keys: ['OPENAI_API_KEY'], baseUrlVariable: 'OPENAI_BASE_URL' },
  openrouter: compatible('https://openrouter.ai/api/v1', ['OPENROUTER_API_KEY']),
  gemini: compatible(
    'https://generativelanguage.googleapis.com/v1beta/openai',
    ['GOOGLE_API_KEY', 'GEMINI_API_KEY'],
    'GEMINI_BASE_URL',
  ),
  deepseek: compatible('https://api.deepseek.com/v1', ['DEEPSEEK_API_KEY']),
  xai: compatible('https://api.x.ai/v1', ['XAI_API_KEY'], 'XAI_BASE_URL'),
  zai: compatible('https://api.z.ai/api/paas/v4', ['GLM_API_KEY'], 'GLM_BASE_URL'),
  novita: compatible('https://api.novita.ai/openai/v1', ['NOVITA_API_KEY'], 'NOVITA_BASE_URL'),
  minimax: compatible('https://api.minimax.io/v1', ['MINIMAX_API_KEY'], 'MINIMAX_BASE_URL'),
  'minimax-cn': compatible('https://api.minimaxi.com/v1', ['MINIMAX_CN_API_KEY'], 'MINIMAX_CN_BASE_URL'),
  nvidia: compatible('https://integrate.api.nvidia.com/v1', ['NVIDIA_API_KEY'], 'NVIDIA_BASE_URL'),
  huggingface: compatible('https://router.huggingface.co/v1', ['HF_TOKEN']),
  xiaomi: compatible('https://api.xiaomimimo.com/v1', ['XIAOMI_API_KEY'], 'XIAOMI_BASE_URL'),
  'ollama-cloud': compatible('https://ollama.com/v1', ['OLLAMA_API_KEY'], 'OLLAMA_BASE_URL'),
  'opencode-zen': compatible('https://opencode.ai/zen/v1', ['OPENCODE_ZEN_API_KEY'], 'OPENCODE_ZEN_BASE_URL'),
  'opencode-go': compatible('https://opencode.ai/zen/go/v1', ['OPENCODE_GO_API_KEY'], 'OPENCODE_GO_BASE_URL'),
  lmstudio: compatible('http://127.0.0.1:1234/v1', ['LM_API_KEY'], 'LM_BASE_URL'),
};

export const aliases: Readonly<Record<string, string>> = {
  grok: 'xai',
  'openai-api': 'openai',
  google: 'gemini',
  ollama: 'custom',
  vllm: 'custom',
  llamacpp: 'custom',
};

/** `provider: auto` uses the first of these whose key is set. */
export const autoOrder = ['openrouter', 'anthropic', 'openai', 'gemini'] as const;

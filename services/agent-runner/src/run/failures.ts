import type { failureCodes } from '@angelia/service-kit';

/** Why a run can fail, and what the user reads then: one sentence, never the raw error. Codes are stable. */
export const failureTexts = {
  models_failed: 'Sorry, the language model could not be reached, so this was not answered.',
  timeout: 'Sorry, this took longer than allowed and was stopped.',
  max_steps: 'Sorry, this needed more steps than allowed and was stopped.',
  budget: 'Sorry, this session has used all the tokens that it may.',
  agent_missing: 'Sorry, the agent that should do this is no longer configured.',
  agent_unreachable: 'Sorry, the agent that should do this could not be reached.',
  agent_failed: 'Sorry, the agent that should do this failed.',
  agent_lost: 'Sorry, the work on this was interrupted, and its outcome is unknown.',
  target_missing: 'Sorry, the place where this answer should go is no longer configured.',
  not_allowed: 'Sorry, what is needed for this is no longer allowed.',
  toolset_missing: 'Sorry, a tool that is needed for this is no longer configured.',
  toolset_unavailable: 'Sorry, a tool that is needed for this could not be reached.',
  skill_unavailable: 'Sorry, an instruction that is needed for this is missing here.',
  internal: 'Sorry, this could not be finished because of an internal error.',
} as const satisfies Partial<Record<(typeof failureCodes)[number], string>>;

export type FailureCode = keyof typeof failureTexts;

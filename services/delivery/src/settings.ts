import { type AddressVariables, chatPlatformsOf, publicUrlWarning } from '@angelia/config';
import type { Config } from '@angelia/contracts';
import { type AnswerLinks, answerLinks, type ServiceSettings } from '@angelia/service-kit';
import { configuredTargets, loadAdapters, openTargets, type Targets } from './targets/target-registry.ts';

/** What delivery makes of a config. */
export interface DeliverySettings {
  readonly targets: Targets;
  /** Resolves the references in an address. */
  readonly addressVariables: AddressVariables;
  readonly policy: Config['delivery'];
  /** Null: no agent of this config asks questions, so there is no key. */
  readonly answerLinks: Pick<AnswerLinks, 'url' | 'approvalUrl'> | null;
  /** Only this machine could open the link of a question. */
  readonly linksAreLocal: boolean;
  /** The platforms whose clicks and replies come back (`chats` of the config). */
  readonly chats: ReadonlySet<string>;
}

export const deliverySettings: ServiceSettings<DeliverySettings> = {
  make: async ({ config, addressVariables }, { environment, logger }) => {
    const links = answerLinks(config, environment);
    const targets = openTargets(config, logger, await loadAdapters(configuredTargets(config)), environment);
    return {
      targets,
      addressVariables,
      policy: config.delivery,
      answerLinks: links,
      linksAreLocal: publicUrlWarning(config, environment) !== null,
      chats: chatPlatformsOf(config),
    };
  },
  close: ({ targets }) => targets.close(),
};

import type {
  LanguageModelV4CallOptions,
  LanguageModelV4Content,
  LanguageModelV4StreamPart,
  SharedV4ProviderMetadata,
} from '@ai-sdk/provider';
import type { RemoteModelConfig } from '../remote-model.ts';

/**
 * The parts of an answer in their order, if the provider signed its thoughts: it refuses them in another order. A `call`
 * stands for the next call of the answer.
 */
export type KeptPart =
  | { readonly type: 'reasoning'; text: string; signed: SharedV4ProviderMetadata }
  | { readonly type: 'text'; text: string }
  | { readonly type: 'call' };

/** Collects the parts of a streamed answer. */
export class KeptParts {
  readonly #parts: KeptPart[] = [];
  readonly #open = new Map<string, Exclude<KeptPart, { type: 'call' }>>();

  /** Undefined: nothing that the provider wants back. */
  get value(): readonly KeptPart[] | undefined {
    return ifSigned(this.#parts);
  }

  add(part: LanguageModelV4StreamPart): void {
    switch (part.type) {
      case 'reasoning-start':
      case 'text-start': {
        const begun: Exclude<KeptPart, { type: 'call' }> =
          part.type === 'text-start'
            ? { type: 'text', text: '' }
            : { type: 'reasoning', text: '', signed: part.providerMetadata ?? {} };
        this.#parts.push(begun);
        this.#open.set(part.id, begun);
        break;
      }
      case 'reasoning-delta':
      case 'text-delta': {
        const open = this.#open.get(part.id);
        if (open === undefined) break;
        open.text += part.delta;
        if (open.type === 'reasoning') open.signed = { ...open.signed, ...part.providerMetadata };
        break;
      }
      case 'tool-call':
        this.#parts.push({ type: 'call' });
        break;
      default:
        break;
    }
  }
}

/** The parts of an answer in one piece. Undefined: nothing that the provider wants back. */
export function keptContent(content: readonly LanguageModelV4Content[]): readonly KeptPart[] | undefined {
  return ifSigned(
    content.flatMap((part): KeptPart[] => {
      switch (part.type) {
        case 'reasoning':
          return [{ type: 'reasoning', text: part.text, signed: part.providerMetadata ?? {} }];
        case 'text':
          return [{ type: 'text', text: part.text }];
        case 'tool-call':
          return [{ type: 'call' }];
        default:
          return [];
      }
    }),
  );
}

function ifSigned(parts: readonly KeptPart[]): readonly KeptPart[] | undefined {
  const isSigned = parts.some((part) => part.type === 'reasoning' && Object.keys(part.signed).length > 0);
  return isSigned ? parts : undefined;
}

export function effortOf({ reasoning }: RemoteModelConfig): Pick<LanguageModelV4CallOptions, 'reasoning'> {
  return reasoning?.effort === undefined ? {} : { reasoning: reasoning.effort };
}

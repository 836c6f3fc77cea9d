import type { Loaded } from '@angelia/sessions';
import type { OutputMessage } from '../../targets/target.ts';
import type { Chunk, NamedFile } from '../../text/cut/chunk.ts';
import { limitOutput } from '../../text/cut/output-limit.ts';
import { linkAddresses } from '../../text/read/link-addresses.ts';

/** People look at one or two files. A list of a hundred links must not become a hundred messages. */
const MOST_FILES = 4;
/** Longer than any path that a person would read. */
const MOST_CHARACTERS = 200;

/**
 * One chunk for each file that a final response names, if the session was created with it (config-is-a-fact). Derived from the
 * log alone, because a retry counts the chunks. Whether a file can be sent is checked when its turn comes.
 */
export function fileChunks(
  { type, text }: Pick<OutputMessage, 'type' | 'text'>,
  { state }: Pick<Loaded, 'state'>,
): readonly Chunk[] {
  if (type !== 'final-response' || state.created?.deliverFiles === undefined) return [];
  return namedFiles(limitOutput(text).text).map((file) => ({ text: '', file }));
}

/** Files are named by links and images whose address is a path with an extension: `[report](out/report.csv)`. */
export function namedFiles(text: string): NamedFile[] {
  const paths = new Set(linkAddresses(text).flatMap((address) => pathOf(address) ?? []));
  const files = [...paths].slice(0, MOST_FILES).map((path) => ({ path, why: whyNot(path) }));
  const more = paths.size - files.length;
  if (more > 0) files.push({ path: [...paths][MOST_FILES] ?? '', why: tooMany(more) });
  return files;
}

/** Null: an address of something else, such as a page, a heading or a directory. */
function pathOf(address: string): string | null {
  if (/^(?:[a-z][a-z0-9+.-]*:|\/\/|[#?])/i.test(address)) return null;
  const path = decoded(address).replace(/^(?:\.\/)+/, '');
  return /[^/.]\.[a-z0-9]{1,10}$/i.test(path) ? path : null;
}

function decoded(address: string): string {
  try {
    return decodeURIComponent(address);
  } catch {
    return address;
  }
}

function whyNot(path: string): string | null {
  const steps = path.split('/');
  if (steps.some((step) => step === '' || step === '.' || step === '..'))
    return 'only files in the directory of the session can be sent, named by a relative path';
  if (path.length > MOST_CHARACTERS) return `its path has more than ${MOST_CHARACTERS} characters`;
  // A name that would read as markup or as another name.
  if (!path.isWellFormed() || /[\p{Cc}\p{Cf}`"\\]/u.test(path))
    return 'its name has characters that a file name should not have';
  return null;
}

function tooMany(more: number): string {
  const others = more === 1 ? '' : `, and so were ${more - 1} more`;
  return `an answer has at most ${MOST_FILES} files. It was left out${others}`;
}

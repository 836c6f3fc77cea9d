/** One message at the platform: a long output is several. */
export interface Chunk {
  /** In the platform's own markup, with its `(1/3)`. */
  readonly text: string;
  /** The same without markup, for a platform that refuses it. Left out if there is no difference. */
  readonly plain?: string;
  /** A file that the output names, in place of the text. */
  readonly file?: NamedFile;
}

export interface NamedFile {
  /** As the output names it. */
  readonly path: string;
  /** Why it cannot be sent, as far as the output alone tells. */
  readonly why: string | null;
}

/** Put before a chunk that is resent without knowing whether it is there. Code that cuts a text leaves room for it. */
export const DUPLICATE_MARK = '(possible duplicate) ';

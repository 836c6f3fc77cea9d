/** A mail as it came in, whoever parsed it: postal-mime for IMAP, or the provider of a webhook. */
export interface InboundMail {
  /** From top to bottom, as the mail has them. Names are in lower case. */
  readonly headers: readonly MailHeader[];
  readonly text: string | null;
  readonly html: string | null;
  readonly files: readonly MailFile[];
  /** When our server received it (ms). */
  readonly receivedAtMs: number;
}

export interface MailHeader {
  readonly key: string;
  readonly value: string;
}

export interface MailFile {
  readonly name: string;
  readonly mimeType: string | null;
  readonly bytes: number;
  /** Null: too long to be brought. */
  readonly content: Uint8Array | null;
}

export function headersNamed({ headers }: Pick<InboundMail, 'headers'>, name: string): string[] {
  return headers.filter(({ key }) => key === name).map(({ value }) => value);
}

/** The first one. Null: there is none. */
export function headerNamed(mail: Pick<InboundMail, 'headers'>, name: string): string | null {
  return headersNamed(mail, name)[0] ?? null;
}

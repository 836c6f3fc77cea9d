/** A difference from Hermes, and what to do about it. */
export interface Note {
  /** The place in the files of Hermes. */
  readonly place: string;
  readonly what: string;
  readonly todo: string;
}

export class Notes {
  readonly all: Note[] = [];

  add(place: string, what: string, todo: string): void {
    const known = this.all.some((note) => note.place === place && note.what === what);
    if (!known) this.all.push({ place, what, todo });
  }
}

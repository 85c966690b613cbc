import { createHash } from "node:crypto";

/** What ids consist of, by the schema of GameSessions (`spec.userId`). */
const words = /[\w-]+/g;
const isWord = /^[\w-]+$/;

/** Calls players by other names, in time that does not grow with their number. */
export class PlayerNames {
  /** By the id: what stands in its place. */
  readonly #names: ReadonlyMap<string, string>;
  /** How long ids are, the longest first: one may begin as another does. */
  readonly #lengths: readonly number[];
  readonly #shortest: number;
  /** Ids that the schema refuses: each is looked for by itself. */
  readonly #unusual: readonly string[];

  constructor(ids: readonly string[]) {
    const usual = ids.filter((id) => isWord.test(id));
    this.#names = new Map(usual.map((id) => [id, otherNameOf(id)]));
    this.#lengths = [...new Set(usual.map(({ length }) => length))].sort((a, b) => b - a);
    this.#shortest = this.#lengths.at(-1) ?? Infinity;
    this.#unusual = ids.filter((id) => !isWord.test(id)).sort((a, b) => b.length - a.length);
  }

  /**
   * Returns the text with another name in the place of each id, also where an id is a part of a longer word.
   */
  replaceIn(text: string): string {
    let replaced = text;
    for (const id of this.#unusual) replaced = replaced.replaceAll(id, otherNameOf(id));
    return replaced.replaceAll(words, (word) => this.#replaceWithin(word));
  }

  #replaceWithin(word: string): string {
    let replaced = "";
    let at = 0;
    while (at <= word.length - this.#shortest) {
      const player = this.#playerAt(word, at);
      replaced += player?.name ?? word.charAt(at);
      at += player?.id.length ?? 1;
    }
    return replaced + word.slice(at);
  }

  #playerAt(word: string, at: number): { id: string; name: string } | undefined {
    for (const length of this.#lengths) {
      const id = word.slice(at, at + length);
      const name = this.#names.get(id);
      if (name !== undefined) return { id, name };
    }
    return undefined;
  }
}

/** Returns the name of a player, which is the same everywhere and does not tell the id. */
export function otherNameOf(player: string): string {
  return `player-${createHash("sha256").update(player).digest("hex").slice(0, 8)}`;
}

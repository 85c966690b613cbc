/** So many strings are remembered at least, and twice as many at most. */
const remembered = 1_024;

/**
 * Finds strings again that many objects have in common, which are then in memory once instead of once an
 * object.
 */
export class SharedStrings {
  #recent = new Map<string, string>();
  #former = new Map<string, string>();

  /** Returns an equal string: the one that came before, unless more than a thousand others came since. */
  share(text: string): string {
    const known = this.#recent.get(text);
    if (known !== undefined) return known;
    const shared = this.#former.get(text) ?? text;
    this.#recent.set(shared, shared);
    if (this.#recent.size === remembered) {
      this.#former = this.#recent;
      this.#recent = new Map();
    }
    return shared;
  }
}

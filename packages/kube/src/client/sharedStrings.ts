/** Minimum number of remembered strings; the maximum is twice as many. */
const remembered = 1_024;

/** Deduplicates strings that many objects have in common, so that they are in memory once. */
export class SharedStrings {
  #recent = new Map<string, string>();
  #former = new Map<string, string>();

  /** Returns an equal string that was seen before, unless it was more than a thousand strings ago. */
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

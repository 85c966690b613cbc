/**
 * Runs removals in the background of the next test. Only one runs at a time, and the suite waits for the last
 * one.
 */
export class LateRemoval {
  #underWay = Promise.resolve();

  /** Waits for the previous removal, whose error it throws, and starts this one in any case. */
  async begin(remove: () => Promise<void>): Promise<void> {
    try {
      await this.end();
    } finally {
      this.#underWay = remove();
      // The waiting caller gets the error. Until then, Node would report it as unhandled.
      this.#underWay.catch(() => undefined);
    }
  }

  /** Waits for the running removal and throws its error. */
  async end(): Promise<void> {
    const underWay = this.#underWay;
    this.#underWay = Promise.resolve();
    await underWay;
  }
}

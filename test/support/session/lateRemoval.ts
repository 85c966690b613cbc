/** Removals that go on beside the next test. There is one at a time, and the suite waits for the last one. */
export class LateRemoval {
  #underWay = Promise.resolve();

  /** Waits for the removal before, whose error it throws, and begins this one all the same. */
  async begin(remove: () => Promise<void>): Promise<void> {
    try {
      await this.end();
    } finally {
      this.#underWay = remove();
      // Its error is of whoever waits for it; until somebody does, Node would take it for one that nobody
      // handles.
      this.#underWay.catch(() => undefined);
    }
  }

  /** Waits for the removal that is under way, and throws its error. */
  async end(): Promise<void> {
    const underWay = this.#underWay;
    this.#underWay = Promise.resolve();
    await underWay;
  }
}

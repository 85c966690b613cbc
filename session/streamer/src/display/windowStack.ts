/**
 * The managed windows, and how they lie over each other. One that belongs to another window, its owner, is a
 * dialog.
 */
export class WindowStack {
  readonly #owners = new Map<number, number | undefined>(); // in the order in which the windows were opened
  #order: number[] = []; // the lowest first

  get size(): number {
    return this.#owners.size;
  }

  /** The windows in the order in which they were opened. */
  get windows(): number[] {
    return [...this.#owners.keys()];
  }

  get top(): number | undefined {
    return this.#order.at(-1);
  }

  has(window: number): boolean {
    return this.#owners.has(window);
  }

  isDialog(window: number): boolean {
    return this.#owners.get(window) !== undefined;
  }

  /** Adds a window on top; one that is there already stays where it is. */
  add(window: number, owner?: number): void {
    if (!this.has(window)) this.#order.push(window);
    this.#owners.set(window, owner);
  }

  /** Returns whether the window was there. */
  remove(window: number): boolean {
    this.#order = this.#order.filter((other) => other !== window);
    return this.#owners.delete(window);
  }

  /**
   * Puts a window on top, and over it its dialogs, and theirs, in the order that they have. Returns these
   * dialogs, the lowest first.
   */
  raise(window: number): number[] {
    const raised = new Set([window]);
    for (const other of this.#order) {
      const owner = this.#owners.get(other);
      if (owner !== undefined && raised.has(owner)) raised.add(other);
    }
    this.#order = [...this.#order.filter((other) => !raised.has(other)), ...raised];
    return [...raised].slice(1);
  }
}

/** The managed windows in stacking order. A window with an owner is a dialog of that owner. */
export interface WindowStack {
  size(): number;
  /** Returns the windows in the order in which they were opened. */
  windows(): number[];
  /** Returns the topmost window; undefined when the stack is empty. */
  top(): number | undefined;
  /** Returns the windows in stacking order, the topmost first. */
  topDown(): number[];
  has(window: number): boolean;
  isDialog(window: number): boolean;
  /** Returns the window above which this one stays; undefined for none. */
  ownerOf(window: number): number | undefined;
  /** Adds a window on top. A window that is already in the stack keeps its position. */
  add(window: number, owner?: number): void;
  /** Returns whether the window was in the stack. */
  remove(window: number): boolean;
  /**
   * Moves a window to the top, and its dialogs (and their dialogs) above it in their current order. Returns
   * those dialogs, lowest first.
   */
  raise(window: number): number[];
}

/** Returns an empty stack. */
export function createWindowStack(): WindowStack {
  const owners = new Map<number, number | undefined>(); // In opening order.
  let order: number[] = []; // Lowest first.
  return {
    size: () => owners.size,
    windows: () => [...owners.keys()],
    top: () => order.at(-1),
    topDown: () => [...order].reverse(),
    has: (window) => owners.has(window),
    isDialog: (window) => owners.get(window) !== undefined,
    ownerOf: (window) => owners.get(window),
    add(window, owner) {
      if (!owners.has(window)) order.push(window);
      owners.set(window, owner);
    },
    remove(window) {
      order = order.filter((other) => other !== window);
      return owners.delete(window);
    },
    raise(window) {
      const raised = new Set([window]);
      for (const other of order) {
        const owner = owners.get(other);
        if (owner !== undefined && raised.has(owner)) raised.add(other);
      }
      order = [...order.filter((other) => !raised.has(other)), ...raised];
      return [...raised].slice(1);
    },
  };
}

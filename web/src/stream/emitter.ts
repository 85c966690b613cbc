/** Typed events: `on` returns the function that stops listening. */
export class Emitter<Events extends object> {
  readonly #listeners = new Map<keyof Events, Set<(payload: never) => void>>();

  on<Name extends keyof Events>(name: Name, listener: (payload: Events[Name]) => void): () => void {
    const listeners = this.#listeners.get(name) ?? new Set();
    this.#listeners.set(name, listeners.add(listener));
    return () => void listeners.delete(listener);
  }

  protected emit<Name extends keyof Events>(name: Name, payload: Events[Name]): void {
    // A copy: a listener may stop listening while it is called.
    for (const listener of [...(this.#listeners.get(name) ?? [])])
      (listener as (payload: Events[Name]) => void)(payload);
  }
}

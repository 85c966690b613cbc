import Mocha from "mocha";
import type { InvariantStores } from "./invariantStores.ts";
import { Invariants } from "./invariants.ts";
import { InvariantWatch } from "./invariantWatch.ts";

/** What hooks of a run look at, and how. */
export interface InvariantHookOptions {
  /** Opens the stores before the first test, until they are closed after the last one. */
  open: () => Promise<InvariantStores & { close: () => void }>;
  intervalMs: number;
  /** Shows what an admin would look at, while the platform is as it was found. */
  onViolation: () => Promise<void>;
}

/**
 * Root hooks that look at a platform's invariants beside all tests of a run. A test during which one broke
 * fails; the others run on.
 */
export function invariantHooks({
  open,
  intervalMs,
  onViolation,
}: InvariantHookOptions): Mocha.RootHookObject {
  let stores: Awaited<ReturnType<typeof open>> | undefined;
  let watch: InvariantWatch | undefined;
  let title = "";
  return {
    async beforeAll() {
      stores = await open();
      watch = new InvariantWatch(new Invariants(stores, { during: () => title }), intervalMs);
      watch.start();
    },
    beforeEach(this: Mocha.Context) {
      title = this.currentTest?.fullTitle() ?? "";
    },
    async afterEach(this: Mocha.Context) {
      try {
        await watch?.check();
      } catch (error) {
        await onViolation();
        // Thrown, it would fail this hook, and with it the whole run.
        if (!(this.test instanceof Mocha.Hook)) throw error;
        this.test.error(error);
      }
    },
    async afterAll() {
      try {
        await watch?.stop();
      } finally {
        stores?.close();
      }
    },
  };
}

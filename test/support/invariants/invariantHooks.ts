import Mocha from "mocha";
import type { InvariantStores } from "./invariantStores.ts";
import { Invariants } from "./invariants.ts";
import { InvariantWatch } from "./invariantWatch.ts";

/** Options of the hooks. */
export interface InvariantHookOptions {
  /** Opens the stores before the first test. They are closed after the last one. */
  open: () => Promise<InvariantStores & { close: () => void }>;
  intervalMs: number;
  /** Prints the state of the platform for troubleshooting at the time of a violation. */
  onViolation: () => Promise<void>;
}

/**
 * Returns root hooks that check a platform's invariants during all tests of a run. A test with a violation
 * fails; the others continue.
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
        // Throwing would fail this hook, and so the whole run.
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

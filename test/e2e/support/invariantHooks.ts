import { invariantHooks } from "#test/support/invariants/invariantHooks.ts";
import { platform } from "./platform.ts";
import { openPlatformStores } from "./platformStores.ts";

/** Each check costs the platform two short lists and one statement. */
const intervalMs = 1_000;

/** For mocha's `--require`. */
export const mochaHooks = invariantHooks({
  open: openPlatformStores,
  intervalMs,
  onViolation: async () => console.error(await (await platform()).diagnosis()),
});

import type { SignInsResponse } from "#contracts/http/account.ts";
import type { AuthSessionRow } from "../auth/authSessionQueries.ts";

/** Returns the player's sign-ins as their page shows them; `currentId` is the one that asks. */
export function presentSignIns(rows: readonly AuthSessionRow[], currentId: string): SignInsResponse {
  return {
    signIns: rows.map(({ id, startedAt, lastUsedAt, device, ipPrefix }) => ({
      signInId: id,
      isCurrent: id === currentId,
      device,
      network: ipPrefix,
      signedInAt: startedAt.toISOString(),
      lastUsedAt: lastUsedAt.toISOString(),
    })),
  };
}

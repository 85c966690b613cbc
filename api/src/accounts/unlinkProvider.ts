import { isIssuer, type ProviderIssuer } from "../auth/issuer.ts";
import { DomainError } from "../errors.ts";
import type { Audit } from "../audit/audit.ts";
import type { Postgres } from "../stores/postgres.ts";
import { deleteIdentities, lockSignInMethods } from "./accountQueries.ts";

/** Who wants which provider to sign in to their account no more. */
export interface Unlinking {
  userId: string;
  provider: { id: string; issuer: string };
  /** Every provider that can sign players in. */
  providers: readonly Pick<ProviderIssuer, "issuer">[];
  address: string;
  requestId: string;
}

/**
 * Takes the provider's accounts from the player; it succeeds also when the player has none. Throws conflict
 * when nothing would be left to sign in with.
 */
export async function unlinkProvider(
  { postgres, audit }: { postgres: Postgres; audit: Audit },
  { userId, provider, providers, address, requestId }: Unlinking,
): Promise<void> {
  const canSignIn = (stored: string): boolean =>
    providers.some(({ issuer }) => issuer !== undefined && isIssuer(issuer, stored));
  const unlinked = await postgres.transaction(async (transaction) => {
    // Locked: two of these at once must not leave a player without any way in.
    const { hasPassword, issuers } = await lockSignInMethods(transaction, userId);
    const leaving = issuers.filter((stored) => isIssuer(provider.issuer, stored));
    const isLast = !hasPassword && !issuers.some((stored) => !leaving.includes(stored) && canSignIn(stored));
    if (leaving.length > 0 && isLast) {
      throw new DomainError("conflict", {
        message: "Nothing else signs in to this account: set a password, or link another provider first.",
      });
    }
    return leaving.length === 0 ? 0 : deleteIdentities(transaction, userId, leaving);
  });
  if (unlinked === 0) return;
  const user = { kind: "user", id: userId } as const;
  await audit.record({
    action: "identity.unlinked",
    actor: user,
    subject: user,
    address,
    requestId,
    details: { provider: provider.id },
  });
}

import { pagePaths } from "#contracts/pagePaths.ts";

const storageKey = "joypod.saveLink";

/**
 * Keeps the token of an opened link while the player signs in, which may lead to another site and back. The
 * token is behind the `#` and is removed from the address, so that neither logs nor the history have it.
 */
export function keepLinkToken(): void {
  if (location.pathname !== pagePaths.saveLink || location.hash.length <= 1) return;
  try {
    sessionStorage.setItem(storageKey, location.hash.slice(1));
  } catch {
    return; // The browser stores nothing; the link works for players who are signed in.
  }
  history.replaceState(history.state, "", pagePaths.saveLink);
}

/** Returns the token of the link that was opened last in this tab; undefined without one. */
export function findLinkToken(): string | undefined {
  const inAddress = location.hash.slice(1);
  if (inAddress !== "") return inAddress;
  try {
    return sessionStorage.getItem(storageKey) ?? undefined;
  } catch {
    return undefined;
  }
}

/** Forgets the token, which is used up. */
export function forgetLinkToken(): void {
  try {
    sessionStorage.removeItem(storageKey);
  } catch {
    // Nothing was stored.
  }
}

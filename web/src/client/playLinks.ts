/** The API's call for play links, and the link that a player opens while they sign in. */
import { OpenedPlayLink } from "#contracts/http/gameChannels.ts";
import { request } from "./request.ts";

const storageKey = "joypod.playLink";

/** Opens a play link to the player. Errors: not_found for an unknown or expired link, conflict. */
export function openPlayLink(linkToken: string, signal?: AbortSignal): Promise<OpenedPlayLink> {
  return request(OpenedPlayLink, "/api/play-links", { json: { linkToken }, signal });
}

/**
 * Keeps the token of a link for this tab, because signing in leads to other addresses and back. Without
 * storage, a player who is not signed in has to open the link again.
 */
export function keepLinkToken(token: string): void {
  kept = token;
  try {
    sessionStorage.setItem(storageKey, token);
  } catch {
    // Storage may be switched off.
  }
}

/** Returns the kept token; undefined if there is none. */
export function readLinkToken(): string | undefined {
  try {
    return sessionStorage.getItem(storageKey) ?? kept;
  } catch {
    return kept;
  }
}

let kept: string | undefined;

import { useCallback } from "react";
import { queryOptions, useQuery, type QueryClient } from "@tanstack/react-query";
import { readAuthSession, type AuthSessionUser } from "../client/auth.ts";

/** The player who is signed in, if any. */
export type AuthState =
  | { state: "loading" }
  | { state: "signedIn"; user: AuthSessionUser }
  /** `isExpired`: the player was signed in until the API refused a request. */
  | { state: "signedOut"; isExpired: boolean }
  | { state: "failed"; error: Error };

/**
 * A request that replaces the sign-in of the browser ends the former one first. Its response may arrive after
 * a request of the former sign-in has been refused.
 */
const confirmingPause = { minMs: 500, maxMs: 1_000 };

interface AuthSession {
  user: AuthSessionUser | null;
  isExpired: boolean;
}

const authSessionKey = "authSession";
const authChannelName = "joypod.authSession";

const authSessionQuery = queryOptions({
  queryKey: [authSessionKey],
  queryFn: async ({ client }): Promise<AuthSession> => {
    const user = await readAuthSession();
    const former = client.getQueryData<AuthSession>([authSessionKey])?.user;
    if (former && former.id !== user?.id) forgetPlayer(client);
    return { user, isExpired: false };
  },
  // Signing in and out update it, in this tab and, by `shareAuthSession`, in all other tabs. The focus is the
  // fallback for browsers without BroadcastChannel.
  staleTime: Infinity,
  refetchOnWindowFocus: "always",
  gcTime: Infinity,
});

/**
 * Returns who is signed in, and a function that reads it again: it throws when the read fails and keeps the
 * former state.
 */
export function useAuth(): { auth: AuthState; refresh: () => Promise<void> } {
  const { data, error, refetch } = useQuery(authSessionQuery);
  const refresh = useCallback(async () => {
    await refetch({ throwOnError: true });
  }, [refetch]);
  return { auth: toAuthState(data, error), refresh };
}

/** Reads again who is signed in, such as after the API refused a request of the player shown. */
export function refreshAuthSession(client: QueryClient): void {
  void client.invalidateQueries({ queryKey: authSessionQuery.queryKey });
}

/**
 * Tells the other tabs who is signed in here whenever that changes, and reads it again when another tab
 * reports somebody else: tabs share the cookie, and the focus event that would show a change may never come.
 */
export function shareAuthSession(client: QueryClient): void {
  const channel = openAuthChannel();
  if (channel === undefined) return;
  const playerId = (): string | null | undefined => {
    const session = client.getQueryData<AuthSession>(authSessionQuery.queryKey);
    return session === undefined ? undefined : (session.user?.id ?? null);
  };
  let sharedId: string | null | undefined;
  client.getQueryCache().subscribe(() => {
    const id = playerId();
    if (id === undefined || id === sharedId) return;
    sharedId = id;
    channel.postMessage(id);
  });
  channel.addEventListener("message", ({ data }: MessageEvent<unknown>) => {
    if (data !== playerId()) refreshAuthSession(client);
  });
}

function openAuthChannel(): BroadcastChannel | undefined {
  try {
    return new BroadcastChannel(authChannelName);
  } catch {
    return undefined; // The browser has none, or refuses it to a page that may store nothing.
  }
}

/**
 * Ends the signed-in state of the page: after signing out, or (`isExpired`) because the API no longer accepts
 * the sign-in.
 */
export function endAuthSession(client: QueryClient, { isExpired }: { isExpired: boolean }): void {
  // A read that the API answered before the sign-out must not sign the page in again. After a 401, a read in
  // flight may report the next player.
  if (!isExpired) void client.cancelQueries({ queryKey: authSessionQuery.queryKey });
  client.setQueryData(authSessionQuery.queryKey, { user: null, isExpired });
}

/**
 * Returns whether the player shown is still signed in although the API refused a request; ends the signed-in
 * state if not. The request may have carried a cookie that has been replaced since, such as by a new
 * password.
 */
export async function confirmAuthSession(client: QueryClient): Promise<boolean> {
  const shownId = (): string | undefined =>
    client.getQueryData<AuthSession>(authSessionQuery.queryKey)?.user?.id;
  const refusedId = shownId();
  if (refusedId === undefined) return false;
  const { minMs, maxMs } = confirmingPause;
  await new Promise((resolve) => setTimeout(resolve, minMs + Math.random() * (maxMs - minMs)));
  const user = await readAuthSession().catch(() => null); // Without a response the 401 is valid.
  // Otherwise the page knows that the player signed out or somebody else signed in.
  if (shownId() === refusedId && user?.id !== refusedId) endAuthSession(client, { isExpired: true });
  return shownId() === refusedId;
}

/** Removes the data of one player before another one sees the page. */
function forgetPlayer(client: QueryClient): void {
  client.removeQueries({ predicate: ({ queryKey }) => queryKey[0] !== authSessionKey });
}

function toAuthState(data: AuthSession | undefined, error: Error | null): AuthState {
  if (data === undefined) return error === null ? { state: "loading" } : { state: "failed", error };
  return data.user === null
    ? { state: "signedOut", isExpired: data.isExpired }
    : { state: "signedIn", user: data.user };
}

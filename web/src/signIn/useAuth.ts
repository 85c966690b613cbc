import { useCallback } from "react";
import { queryOptions, useQuery, type QueryClient } from "@tanstack/react-query";
import { readAuthSession, type AuthSessionUser } from "../client/auth.ts";

/** Who uses the page. */
export type AuthState =
  | { state: "loading" }
  | { state: "signedIn"; user: AuthSessionUser }
  /** `isExpired`: the player was signed in until the API refused a request. */
  | { state: "signedOut"; isExpired: boolean }
  | { state: "failed"; error: Error };

interface AuthSession {
  user: AuthSessionUser | null;
  isExpired: boolean;
}

const authSessionKey = "authSession";

const authSessionQuery = queryOptions({
  queryKey: [authSessionKey],
  queryFn: async ({ client }): Promise<AuthSession> => {
    const user = await readAuthSession();
    const former = client.getQueryData<AuthSession>([authSessionKey])?.user;
    if (former && former.id !== user?.id) forgetPlayer(client);
    return { user, isExpired: false };
  },
  // Only signing in and out change it, and both say so, but in another tab or window: who comes back to this one may be somebody else.
  staleTime: Infinity,
  refetchOnWindowFocus: "always",
  gcTime: Infinity,
});

/** Returns who is signed in, and a function that asks the API again: it throws when that does not say, and leaves what was known. */
export function useAuth(): { auth: AuthState; refresh: () => Promise<void> } {
  const { data, error, refetch } = useQuery(authSessionQuery);
  const refresh = useCallback(async () => {
    await refetch({ throwOnError: true });
  }, [refetch]);
  return { auth: authStateOf(data, error), refresh };
}

/** Ends the signed-in state of the page: after signing out, or (`isExpired`) because the API no longer accepts the sign-in. */
export function endAuthSession(client: QueryClient, { isExpired }: { isExpired: boolean }): void {
  // A read that the API answered before the sign-out must not sign the page in again. After a 401 one under way may tell who has signed in instead.
  if (!isExpired) void client.cancelQueries({ queryKey: authSessionQuery.queryKey });
  client.setQueryData(authSessionQuery.queryKey, { user: null, isExpired });
}

/** Removes what the API said to one player before another one sees the page. */
function forgetPlayer(client: QueryClient): void {
  client.removeQueries({ predicate: ({ queryKey }) => queryKey[0] !== authSessionKey });
}

function authStateOf(data: AuthSession | undefined, error: Error | null): AuthState {
  if (data === undefined) return error === null ? { state: "loading" } : { state: "failed", error };
  return data.user === null ? { state: "signedOut", isExpired: data.isExpired } : { state: "signedIn", user: data.user };
}

import { focusManager, MutationCache, QueryCache, QueryClient, type Query } from "@tanstack/react-query";
import { isApiError } from "./client/apiError.ts";
import { confirmAuthSession, endAuthSession, shareAuthSession } from "./signIn/useAuth.ts";

type AnyQuery = Query<unknown, unknown, unknown>;

/**
 * Returns the client of all reading and changing requests. An error response that tells that the sign-in is
 * over, and is right, ends the signed-in state.
 */
export function createQueryClient(): QueryClient {
  focusManager.setEventListener(listenForReturn);
  /** Those asked again after a 401, until they succeed: another 401 counts. */
  const askedAgain = new WeakSet<AnyQuery>();
  let confirming: Promise<boolean> | undefined;
  /** All that are refused at the same time wait for one answer. */
  const confirm = (): Promise<boolean> =>
    (confirming ??= confirmAuthSession(client).finally(() => {
      confirming = undefined;
    }));
  const onRefusedQuery = async (query: AnyQuery): Promise<void> => {
    if (askedAgain.has(query)) endAuthSession(client, { isExpired: true });
    // Not by its observers, for they poll no more after a 401.
    else if ((await confirm()) && query.getObserversCount() > 0) {
      askedAgain.add(query);
      await query.fetch().catch(() => undefined); // Its failure comes here again.
    }
  };
  const client = new QueryClient({
    queryCache: new QueryCache({
      onError: (error, query) => {
        if (isApiError(error, "unauthorized")) void onRefusedQuery(query);
      },
      onSuccess: (_data, query) => void askedAgain.delete(query),
    }),
    mutationCache: new MutationCache({
      onError: (error) => {
        if (isApiError(error, "unauthorized")) void confirm();
      },
    }),
    defaultOptions: {
      queries: {
        // What the API said is kept as long as a component shows it: the next one to sign in here may be
        // another player.
        gcTime: 0,
        // Errors are shown at once, with a button to try again.
        retry: false,
        refetchOnWindowFocus: false,
        // The API may be reachable although the browser believes that it is offline, such as when both are on
        // one machine.
        networkMode: "always",
      },
      mutations: { networkMode: "always" },
    },
  });
  shareAuthSession(client);
  return client;
}

/**
 * Calls `onReturn` when the player comes back to the page: to its tab, or from a window beside it, in which
 * case it was visible all the time.
 */
function listenForReturn(onReturn: () => void): () => void {
  // Both at once lead to one request of each query: the second finds it under way.
  const listener = (): void => onReturn();
  const events = ["visibilitychange", "focus"] as const;
  for (const event of events) window.addEventListener(event, listener);
  return () => {
    for (const event of events) window.removeEventListener(event, listener);
  };
}

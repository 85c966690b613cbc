import { focusManager, MutationCache, QueryCache, QueryClient, type Query } from "@tanstack/react-query";
import { isApiError } from "./client/apiError.ts";
import { confirmAuthSession, endAuthSession, shareAuthSession } from "./signIn/useAuth.ts";

type AnyQuery = Query<unknown, unknown, unknown>;

/**
 * Returns the client of all queries and mutations. A confirmed error response that the sign-in has ended ends
 * the signed-in state.
 */
export function createQueryClient(): QueryClient {
  focusManager.setEventListener(listenForReturn);
  /** Queries that were repeated after a 401; another 401 is final until they succeed. */
  const askedAgain = new WeakSet<AnyQuery>();
  let confirming: Promise<boolean> | undefined;
  /** Requests that are refused at the same time share one confirmation. */
  const confirm = (): Promise<boolean> =>
    (confirming ??= confirmAuthSession(client).finally(() => {
      confirming = undefined;
    }));
  const onRefusedQuery = async (query: AnyQuery): Promise<void> => {
    if (askedAgain.has(query)) endAuthSession(client, { isExpired: true });
    // Not by its observers, which stop polling after a 401.
    else if ((await confirm()) && query.getObserversCount() > 0) {
      askedAgain.add(query);
      await query.fetch().catch(() => undefined); // Its failure calls this function again.
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
        // Data is kept only while a component shows it: the next player to sign in may be another one.
        gcTime: 0,
        // Errors are shown at once, with a button to retry.
        retry: false,
        refetchOnWindowFocus: false,
        // The API may be reachable although the browser reports that it is offline, such as on the same
        // machine.
        networkMode: "always",
      },
      mutations: { networkMode: "always" },
    },
  });
  shareAuthSession(client);
  return client;
}

/** Calls `onReturn` when the player returns to the page, either to its tab or from a window next to it. */
function listenForReturn(onReturn: () => void): () => void {
  // Both events at once cause one request per query, because the second finds it in flight.
  const listener = (): void => onReturn();
  const events = ["visibilitychange", "focus"] as const;
  for (const event of events) window.addEventListener(event, listener);
  return () => {
    for (const event of events) window.removeEventListener(event, listener);
  };
}

import { focusManager, MutationCache, QueryCache, QueryClient } from "@tanstack/react-query";
import { isApiError } from "./client/apiError.ts";
import { endAuthSession } from "./signIn/useAuth.ts";

/** Returns the client of all reading and changing requests. An error response that tells that the sign-in is over ends the signed-in state. */
export function createQueryClient(): QueryClient {
  focusManager.setEventListener(listenForReturn);
  const onError = (error: Error): void => {
    if (isApiError(error, "unauthorized")) endAuthSession(client, { isExpired: true });
  };
  const client = new QueryClient({
    queryCache: new QueryCache({ onError }),
    mutationCache: new MutationCache({ onError }),
    defaultOptions: {
      queries: {
        // What the API said is kept as long as a component shows it: the next one to sign in here may be another player.
        gcTime: 0,
        // Errors are shown at once, with a button to try again.
        retry: false,
        refetchOnWindowFocus: false,
        // The API may be reachable although the browser believes that it is offline, such as when both are on one machine.
        networkMode: "always",
      },
      mutations: { networkMode: "always" },
    },
  });
  return client;
}

/** Calls `onReturn` when the player comes back to the page: to its tab, or from a window beside it, in which case it was visible all the time. */
function listenForReturn(onReturn: () => void): () => void {
  // Both at once lead to one request of each query: the second finds it under way.
  const listener = (): void => onReturn();
  const events = ["visibilitychange", "focus"] as const;
  for (const event of events) window.addEventListener(event, listener);
  return () => {
    for (const event of events) window.removeEventListener(event, listener);
  };
}

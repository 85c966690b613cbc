import { invalidRequest } from "../errors.ts";

/** What the site lets games do. */
export interface NetworkConfig {
  /** Whether games may be registered, and launched, that open connections. */
  isInternetAllowed: boolean;
}

/** Throws invalid_request when a partner asks for a network that the site allows no game. */
export function checkNetwork(
  { isInternetAllowed }: NetworkConfig,
  { network }: { network?: string | null | undefined },
): void {
  if (network !== "internet" || isInternetAllowed) return;
  throw invalidRequest(
    "This site lets no game open connections: an admin has to allow it by the chart value games.network.",
    [{ path: "network", message: "must be none, unless an admin sets games.network to internet" }],
  );
}

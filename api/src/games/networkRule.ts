import type { Config } from "../config.ts";
import { invalidRequest } from "../errors.ts";

/** Throws invalid_request when a partner asks for a network that this site gives to no game. */
export function checkNetwork({ isInternetAllowed }: Pick<Config, "isInternetAllowed">, { network }: { network?: string | null | undefined }): void {
  if (network !== "internet" || isInternetAllowed) return;
  throw invalidRequest("This site lets no game open connections: an admin has to allow it by the chart value games.network.", [
    { path: "network", message: "must be none, unless an admin sets games.network to internet" },
  ]);
}

import { invalidRequest } from "../errors.ts";
import type { AppContext } from "./appContext.ts";

/**
 * Returns a signal that aborts, with an invalid_request, when the connection closes before the response was
 * sent: the client gave the request up.
 */
export function clientGoneSignal({ res }: AppContext): AbortSignal {
  const gone = new AbortController();
  const onClose = (): void => {
    if (!res.writableFinished) gone.abort(invalidRequest("The connection was closed before the response."));
  };
  if (res.closed) onClose();
  else res.once("close", onClose);
  return gone.signal;
}

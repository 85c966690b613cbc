import { setTimeout as delay } from "node:timers/promises";
import { canConnect, type Endpoint } from "./canConnect.ts";

const pace = { tries: 5, timeoutMs: 2000, pauseMs: 1000 };

/**
 * Returns whether the last of several tries reaches the endpoint: a network plugin may need some seconds to
 * learn of a new pod.
 */
export async function lastTry(endpoint: Endpoint, { tries, timeoutMs, pauseMs } = pace): Promise<boolean> {
  let isOpen = await canConnect(endpoint, timeoutMs);
  for (let left = tries - 1; left > 0; left--) {
    await delay(pauseMs);
    isOpen = await canConnect(endpoint, timeoutMs);
  }
  return isOpen;
}

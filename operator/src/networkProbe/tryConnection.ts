import { connect } from "node:net";
import { setTimeout as delay } from "node:timers/promises";

/** Exit codes of a probe pod. Any other code is a failure of the probe. */
export const exitCodes = { connected: 0, refused: 3 } as const;

const pace = { tries: 5, timeoutMs: 2000, pauseMs: 1000 };

/**
 * Returns whether the endpoint is reachable on the last of several attempts. A network plugin may need a few
 * seconds to set up a new pod.
 */
export async function canReach(endpoint: Endpoint, { tries, timeoutMs, pauseMs } = pace): Promise<boolean> {
  let isOpen = await canConnect(endpoint, timeoutMs);
  for (let left = tries - 1; left > 0; left--) {
    await delay(pauseMs);
    isOpen = await canConnect(endpoint, timeoutMs);
  }
  return isOpen;
}

/** Target of a connection attempt. */
export interface Endpoint {
  host: string;
  port: number;
}

/**
 * Returns whether a TCP connection opens within the timeout. Dropped, rejected and unreachable are
 * equivalent.
 */
function canConnect({ host, port }: Endpoint, timeoutMs: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ host, port });
    const settle = (isOpen: boolean): void => {
      socket.destroy();
      resolve(isOpen);
    };
    socket.setTimeout(timeoutMs, () => settle(false));
    socket.once("connect", () => settle(true)).on("error", () => settle(false));
  });
}

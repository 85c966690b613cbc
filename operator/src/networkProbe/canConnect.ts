import { connect } from "node:net";

/** Where a connection is tried. */
export interface Endpoint {
  host: string;
  port: number;
}

/**
 * Returns whether a TCP connection opens within the time. Why it does not, whether dropped, rejected or
 * unreachable, makes no difference.
 */
export function canConnect({ host, port }: Endpoint, timeoutMs: number): Promise<boolean> {
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

import { freeUdpPort } from "../processes/childProgram.ts";
import { receiveFromProcess } from "./receiveFromProcess.ts";

/** A player's stream or a page's connection test. */
export type ConnectionKind = "viewer" | "test";

/** Side that ends the connection. A hasty browser ends it before the streamer has noticed that it is open. */
export type WhoEnds = "streamer" | "browser" | "hasty browser";

/** Result of the process. */
export interface ConnectionsKept {
  kept: number[];
}

/**
 * Opens and ends this many connections of the streamer, one after another. Returns the indices of those that
 * are still in memory long afterwards.
 */
export async function keptConnections(
  kind: ConnectionKind,
  whoEnds: WhoEnds,
  count: number,
): Promise<number[]> {
  const program = new URL("./endedConnectionsProcess.ts", import.meta.url);
  const { kept } = await receiveFromProcess<ConnectionsKept>(
    program,
    kind,
    whoEnds,
    String(count),
    String(await freeUdpPort()),
  );
  return kept;
}

import { freeUdpPort } from "../processes/childProgram.ts";
import { toldByProcess } from "./toldByProcess.ts";

/** A player's stream, or a page's test of its connection. */
export type ConnectionKind = "viewer" | "test";

/**
 * Which side ends the connection: a hasty browser does so before the streamer's program has been told that it
 * is open.
 */
export type WhoEnds = "streamer" | "browser" | "hasty browser";

/** What the process tells. */
export interface ConnectionsKept {
  kept: number[];
}

/**
 * Opens and ends so many of the streamer's connections, one after the other; returns which of them, from 0
 * on, are still in memory long after.
 */
export async function keptConnections(
  kind: ConnectionKind,
  whoEnds: WhoEnds,
  count: number,
): Promise<number[]> {
  const program = new URL("./endedConnectionsProcess.ts", import.meta.url);
  const { kept } = await toldByProcess<ConnectionsKept>(
    program,
    kind,
    whoEnds,
    String(count),
    String(await freeUdpPort()),
  );
  return kept;
}

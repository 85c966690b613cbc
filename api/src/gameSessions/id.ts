import { randomBase32 } from "#runtime/base32.ts";
import type { LaunchContext } from "./launchQueries.ts";

/**
 * A new game session's id: the name of its row, its GameSession and its pod. The network plugin of EKS has
 * one set of rules for all pods of a namespace on a node whose names differ in their last part alone:
 * sessions with internet differ before it, or others would get their way out.
 */
export function newGameSessionId(network: LaunchContext["network"]): string {
  return `${network === "internet" ? "gs-net" : "gs"}-${randomBase32(20)}`;
}

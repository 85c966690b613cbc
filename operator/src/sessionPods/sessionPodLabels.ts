import type { GameSession } from "#contracts/crd/gameSession.ts";
import { labels } from "#contracts/crd/names.ts";

/**
 * Returns the labels by which NetworkPolicies select session pods: they say whether a pod may open
 * connections, and name no session.
 */
export function sessionPodLabels(network: GameSession["spec"]["network"]): Record<string, string> {
  return {
    ...componentLabels("game-session"),
    ...(network === "Internet" ? { [labels.network]: "internet" } : {}),
  };
}

/** Returns the conventional labels of a pod of the sessions' namespace. */
export function componentLabels(
  component: "game-session" | "network-probe" | "node-test",
): Record<string, string> {
  return {
    "app.kubernetes.io/name": "joypod",
    "app.kubernetes.io/component": component,
    "app.kubernetes.io/part-of": "joypod",
    "app.kubernetes.io/managed-by": "joypod-operator",
  };
}

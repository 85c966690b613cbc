import { gameCacheKind, type GameCache } from "./gameCache.ts";
import { gameNodeKind, type GameNode } from "./gameNode.ts";
import { gameSessionKind, type GameSession } from "./gameSession.ts";
import type { Kind } from "./kind.ts";

/**
 * What a Kubernetes client must know of a kind to read and write objects of type T. It has the shape of
 * kube's ResourceType, which contracts cannot import; `parse` is never set, as the API server has checked the
 * objects against the same schemas.
 */
export interface KindResource<T> extends Pick<Kind, "group" | "version" | "plural" | "kind" | "namespaced"> {
  parse?: ((value: unknown) => T) | undefined;
  repeated?: { spec: readonly string[]; status: readonly string[] } | undefined;
}

/** Joypod's kinds, for the programs that read or write them. */
export const gameSessions: KindResource<GameSession> = {
  ...resourceOf(gameSessionKind),
  repeated: { spec: ["contentDigest"], status: ["nodeName", "address"] },
};
export const gameCaches: KindResource<GameCache> = resourceOf(gameCacheKind);
export const gameNodes: KindResource<GameNode> = resourceOf(gameNodeKind);

function resourceOf<T>({ group, version, plural, kind, namespaced }: Kind): KindResource<T> {
  return { group, version, plural, kind, namespaced };
}

import { gameCacheKind, type GameCache } from "#contracts/crd/gameCache.ts";
import { gameNodeKind, type GameNode } from "#contracts/crd/gameNode.ts";
import { gameSessionKind, type GameSession } from "#contracts/crd/gameSession.ts";
import type { Kind } from "#contracts/crd/kind.ts";
import type { KubeObject } from "#kube/object.ts";
import type { ResourceType } from "#kube/resourceType.ts";

/** Joypod's kinds as the kube client knows them. */
export const gameSessions: ResourceType<GameSession> = resourceTypeOf(gameSessionKind);
export const gameCaches: ResourceType<GameCache> = resourceTypeOf(gameCacheKind);
export const gameNodes: ResourceType<GameNode> = resourceTypeOf(gameNodeKind);

function resourceTypeOf<T extends KubeObject>({ group, version, plural, kind, namespaced }: Kind): ResourceType<T> {
  return { group, version, plural, kind, namespaced };
}

import { gameCacheKind, type GameCache } from "#contracts/crd/gameCache.ts";
import { gameNodeKind, type GameNode } from "#contracts/crd/gameNode.ts";
import { gameSessionKind, type GameSession } from "#contracts/crd/gameSession.ts";
import type { Kind } from "#contracts/crd/kind.ts";
import type { KubeObject } from "#kube/object.ts";
import type { ResourceType } from "#kube/resourceType.ts";

export const gameSessions: ResourceType<GameSession> = typeOf(gameSessionKind);
export const gameCaches: ResourceType<GameCache> = typeOf(gameCacheKind);
export const gameNodes: ResourceType<GameNode> = typeOf(gameNodeKind);

function typeOf<T extends KubeObject>({ group, version, plural, kind, namespaced }: Kind): ResourceType<T> {
  return { group, version, plural, kind, namespaced };
}

import { type ArchiveSource, type GameCache, gameCaches } from "#contracts/crd/gameCache.ts";
import { fieldManagers } from "#contracts/crd/names.ts";
import { isNotFound } from "#kube/api/errors.ts";
import { ResourceClient } from "#kube/client/resourceClient.ts";
import type { KubeTransport } from "#kube/client/transport.ts";

const deadlineMs = 3_000;

/**
 * All that the API writes to GameCaches: which archive is current. On which nodes it is cached is the admin's
 * decision.
 */
export class GameCacheWriter {
  readonly #client: ResourceClient<GameCache>;
  readonly #namespace: string;

  constructor(transport: KubeTransport, sessionsNamespace: string) {
    this.#client = new ResourceClient(transport, gameCaches);
    this.#namespace = sessionsNamespace;
  }

  /**
   * Makes `source` the game's current version; `previousSources` are those that sessions still play, newest
   * first.
   */
  async apply(slug: string, source: ArchiveSource, previousSources: ArchiveSource[]): Promise<void> {
    await this.#client.apply(
      { metadata: { name: slug, namespace: this.#namespace }, spec: { source, previousSources } },
      { fieldManager: fieldManagers.api, deadlineMs },
    );
  }

  /** Removes the game from all nodes. */
  async delete(slug: string): Promise<void> {
    try {
      await this.#client.delete({ name: slug, namespace: this.#namespace }, { deadlineMs });
    } catch (error) {
      if (!isNotFound(error)) throw error;
    }
  }
}

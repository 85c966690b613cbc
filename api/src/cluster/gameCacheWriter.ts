import { type ArchiveSource, type GameCache, gameCaches } from "#contracts/crd/gameCache.ts";
import { fieldManagers } from "#contracts/crd/names.ts";
import { isNotFound } from "#kube/api/errors.ts";
import { ResourceClient } from "#kube/client/resourceClient.ts";
import type { KubeTransport } from "#kube/client/transport.ts";

const deadlineMs = 3_000;

/** Writes GameCaches: the API sets which archive is current. Admins decide on which nodes it is cached. */
export class GameCacheWriter {
  readonly #client: ResourceClient<GameCache>;
  readonly #namespace: string;

  constructor(transport: KubeTransport, sessionsNamespace: string) {
    this.#client = new ResourceClient(transport, gameCaches);
    this.#namespace = sessionsNamespace;
  }

  /** Sets the game's current version. `previousSources` are versions still being played, newest first. */
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

import { announcementConfigMap, readAnnouncement, type Announcement } from "#contracts/announcement.ts";
import { configMaps, type ConfigMap } from "#kube/api/builtin.ts";
import { ObjectCache } from "#kube/cache/cache.ts";
import { keyOfRef } from "#kube/api/object.ts";
import { Reflector } from "#kube/cache/reflector.ts";
import { ResourceClient } from "#kube/client/resourceClient.ts";
import type { KubeTransport } from "#kube/client/transport.ts";
import type { BackgroundJob } from "#runtime/scheduling/backgroundJob.ts";
import type { Logger } from "#runtime/logger.ts";

/** Options of the watch. */
export interface AnnouncementWatchOptions {
  transport: KubeTransport;
  releaseNamespace: string;
  logger: Logger;
}

/** Watches the ConfigMap with the admins' message to everyone who plays. */
export class AnnouncementWatch implements BackgroundJob {
  readonly #reflector: Reflector<ConfigMap>;
  readonly #key: string;

  constructor({ transport, releaseNamespace, logger }: AnnouncementWatchOptions) {
    this.#key = keyOfRef({ namespace: releaseNamespace, name: announcementConfigMap });
    this.#reflector = new Reflector<ConfigMap>({
      client: new ResourceClient(transport, configMaps),
      cache: new ObjectCache<ConfigMap>({ logger }),
      namespace: releaseNamespace,
      fieldSelector: `metadata.name=${announcementConfigMap}`,
      logger,
    });
  }

  /** Returns the message that is shown at this time, if any. */
  current(now: Date): Announcement | undefined {
    const configMap = this.#reflector.cache.get(this.#key);
    const announcement = configMap && readAnnouncement(configMap);
    return announcement !== undefined && Date.parse(announcement.until) > now.getTime()
      ? announcement
      : undefined;
  }

  /** Calls `listener` after each change. Returns a function that unsubscribes. */
  subscribe(listener: () => void): () => void {
    return this.#reflector.cache.subscribe(listener);
  }

  start(): void {
    this.#reflector.start();
  }

  async stop(): Promise<void> {
    await this.#reflector.stop();
  }
}

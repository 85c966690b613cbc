import { maintenanceConfigMap, readMaintenance, type Maintenance } from "#contracts/maintenance.ts";
import { configMaps, type ConfigMap } from "#kube/api/builtin.ts";
import { ObjectCache } from "#kube/cache/cache.ts";
import { keyOfRef } from "#kube/api/object.ts";
import { Reflector } from "#kube/cache/reflector.ts";
import { ResourceClient } from "#kube/client/resourceClient.ts";
import type { KubeTransport } from "#kube/client/transport.ts";
import type { BackgroundJob } from "#runtime/scheduling/backgroundJob.ts";
import type { Logger } from "#runtime/logger.ts";
import { DomainError } from "../errors.ts";

/** Nobody knows the end; a client that asks once a minute hears of it soon enough. */
const retryAfterSeconds = 60;

/** Where the watch looks. */
export interface MaintenanceWatchOptions {
  transport: KubeTransport;
  releaseNamespace: string;
  logger: Logger;
}

/**
 * Follows the ConfigMap of maintenance, so that every replica learns of a change within a moment and asking
 * costs no request. While the Kubernetes API is unavailable the state that was seen last holds.
 */
export class MaintenanceWatch implements BackgroundJob {
  readonly #reflector: Reflector<ConfigMap>;
  readonly #key: string;

  constructor({ transport, releaseNamespace, logger }: MaintenanceWatchOptions) {
    const cache = new ObjectCache<ConfigMap>({ logger });
    this.#key = keyOfRef({ namespace: releaseNamespace, name: maintenanceConfigMap });
    this.#reflector = new Reflector<ConfigMap>({
      client: new ResourceClient(transport, configMaps),
      cache,
      namespace: releaseNamespace,
      fieldSelector: `metadata.name=${maintenanceConfigMap}`,
      logger,
    });
    cache.subscribe(({ type }) => {
      if (type !== "updated")
        logger.info(
          {},
          type === "added" ? "Maintenance has begun: no game is launched." : "Maintenance is over.",
        );
    });
  }

  /** Returns the maintenance that is going on; undefined when there is none. */
  current(): Maintenance | undefined {
    const configMap = this.#reflector.cache.get(this.#key);
    return configMap && readMaintenance(configMap);
  }

  start(): void {
    this.#reflector.start();
  }

  async stop(): Promise<void> {
    await this.#reflector.stop();
  }
}

/** Throws maintenance while an admin works on the service, with what they say of it. */
export function refuseInMaintenance(maintenance: { current: () => Maintenance | undefined }): void {
  const current = maintenance.current();
  if (current === undefined) return;
  const message =
    current.message ?? "Joypod is under maintenance, so games cannot be started. Try again later.";
  throw new DomainError("maintenance", { message, retryAfterSeconds });
}

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

/** The end is unknown; one retry a minute is enough. */
const retryAfterSeconds = 60;

/** Options of the watch. */
export interface MaintenanceWatchOptions {
  transport: KubeTransport;
  releaseNamespace: string;
  logger: Logger;
}

/**
 * Watches the maintenance ConfigMap, so every replica learns of changes immediately and reading the state
 * sends no request. While the Kubernetes API is unavailable, the last state applies.
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

  /** Returns the current maintenance, if any. */
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

/**
 * Refuses launches during maintenance.
 *
 * @throws DomainError `maintenance`, with the admin's message if there is one.
 */
export function refuseInMaintenance(maintenance: { current: () => Maintenance | undefined }): void {
  const current = maintenance.current();
  if (current === undefined) return;
  const message =
    current.message ?? "Joypod is under maintenance, so games cannot be started. Try again later.";
  throw new DomainError("maintenance", { message, retryAfterSeconds });
}

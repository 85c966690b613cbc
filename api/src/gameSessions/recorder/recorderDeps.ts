import type { Logger } from "#runtime/logger.ts";
import type { ClusterView } from "../../cluster/clusterView.ts";
import type { GameSessionWriter } from "../../cluster/gameSessionWriter.ts";
import type { Metrics } from "../../metrics.ts";
import type { ObjectStore } from "../../stores/objectStore.ts";
import type { Postgres } from "../../stores/postgres.ts";

/** What reconciling rows with objects needs. */
export interface RecorderDeps {
  logger: Logger;
  metrics: Metrics;
  postgres: Postgres;
  objectStore: ObjectStore;
  cluster: ClusterView;
  gameSessionWriter: GameSessionWriter;
}

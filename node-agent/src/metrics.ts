import { Counter, Gauge, Histogram, Registry, collectDefaultMetrics } from "prom-client";
import { CacheEntryState } from "#contracts/crd/gameNode.ts";
import { contentReasons } from "#contracts/crd/gameSessionReasons.ts";
import { KubeMetrics } from "#kube/controllers/metrics.ts";
import type { CacheMetrics } from "./cache/contentCache.ts";

/** The agent's metrics. */
export interface Metrics extends CacheMetrics {
  registry: Registry;
  /** For the transport, the watches and the controller. */
  kube: KubeMetrics;
  saveStored(outcome: (typeof saveOutcomes)[number]): void;
  objectStoreReachable(isReachable: boolean): void;
  /** Counts a session folder that was set aside. */
  sessionKept(): void;
}

const saveOutcomes = ["stored", "unchanged", "failed"] as const;

/** Returns the agent's metrics in a separate registry. Each has the label `node`. */
export function createMetrics(node: string): Metrics {
  const registry = new Registry();
  registry.setDefaultLabels({ node });
  collectDefaultMetrics({ register: registry, prefix: "joypod_node_agent_" });
  const downloads = new Counter({
    name: "joypod_node_downloads_total",
    help: "Finished game downloads, by outcome and failure reason.",
    labelNames: ["outcome", "reason"],
    registers: [registry],
  });
  const seconds = new Histogram({
    name: "joypod_node_download_seconds",
    help: "Time from the start of a download until the game is ready, in seconds.",
    buckets: [0.5, 1, 2, 5, 10, 20, 40, 60, 120, 300, 900],
    registers: [registry],
  });
  const bytes = new Counter({
    name: "joypod_node_downloaded_bytes_total",
    help: "Packed size of the games that downloads made ready, in bytes.",
    registers: [registry],
  });
  const resumes = new Counter({
    name: "joypod_node_download_resumes_total",
    help: "Interrupted game downloads that resumed where they stopped.",
    registers: [registry],
  });
  const evictions = new Counter({
    name: "joypod_node_evictions_total",
    help: "Games evicted to free disk space.",
    registers: [registry],
  });
  const saves = new Counter({
    name: "joypod_node_saves_total",
    help: "Attempts to store a session's save, by outcome.",
    labelNames: ["outcome"],
    registers: [registry],
  });
  const reachable = new Gauge({
    name: "joypod_node_store_reachable",
    help: "1 if the object store responded to the last check, 0 if not.",
    registers: [registry],
  });
  const kept = new Counter({
    name: "joypod_node_sessions_kept_total",
    help: "Unreadable session folders set aside for an admin.",
    registers: [registry],
  });
  const capacity = new Gauge({
    name: "joypod_node_cache_capacity_bytes",
    help: "Disk space that unpacked games may use on the node, in bytes.",
    registers: [registry],
  });
  const free = new Gauge({
    name: "joypod_node_cache_free_bytes",
    help: "Disk space left for games within both the budget and the file system, in bytes.",
    registers: [registry],
  });
  const used = new Gauge({
    name: "joypod_node_cache_used_bytes",
    help: "Upper bound of the disk space used by unpacked games, in bytes: file contents plus one block for each file and folder.",
    registers: [registry],
  });
  const versions = new Gauge({
    name: "joypod_node_cache_versions",
    help: "Game versions present or wanted on the node, by state.",
    labelNames: ["state"],
    registers: [registry],
  });
  // Starts at 0, so that the first event is visible as an increase.
  for (const outcome of saveOutcomes) saves.inc({ outcome }, 0);
  for (const reason of Object.values(contentReasons)) {
    if (reason !== contentReasons.unpacked && reason !== contentReasons.downloading)
      downloads.inc({ outcome: "failed", reason }, 0);
  }
  for (const outcome of ["ready", "abandoned"]) downloads.inc({ outcome, reason: "" }, 0);
  return {
    registry,
    kube: new KubeMetrics(registry),
    reported({ capacityBytes, freeBytes, usedBytes, entries }) {
      capacity.set(capacityBytes);
      free.set(freeBytes);
      used.set(usedBytes);
      for (const state of CacheEntryState.options)
        versions.set({ state }, entries.filter((entry) => entry.state === state).length);
    },
    downloaded(outcome, reason, took, packedBytes) {
      downloads.inc({ outcome, reason });
      if (outcome === "ready") seconds.observe(took);
      bytes.inc(packedBytes);
    },
    resumed: () => resumes.inc(),
    evicted: () => evictions.inc(),
    saveStored: (outcome) => saves.inc({ outcome }),
    sessionKept: () => kept.inc(),
    objectStoreReachable: (isReachable) => reachable.set(isReachable ? 1 : 0),
  };
}

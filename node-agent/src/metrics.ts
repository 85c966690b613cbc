import { Counter, Gauge, Histogram, Registry, collectDefaultMetrics } from "prom-client";
import type { CacheMetrics } from "./cache/contentCache.ts";

/** What the agent counts. */
export interface Metrics extends CacheMetrics {
  registry: Registry;
  saveStored(outcome: "stored" | "unchanged" | "failed"): void;
  objectStoreReachable(isReachable: boolean): void;
  /** A session's folder was set aside. */
  sessionKept(): void;
}

/** Returns the agent's metrics, in a registry of their own. */
export function createMetrics(): Metrics {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry, prefix: "joypod_node_agent_" });
  const downloads = new Counter({
    name: "joypod_node_downloads_total", help: "Downloads of games by how they ended.", labelNames: ["outcome", "reason"], registers: [registry],
  });
  const seconds = new Histogram({
    name: "joypod_node_download_seconds", help: "Time from the begin of a download to the game being ready.",
    buckets: [0.5, 1, 2, 5, 10, 20, 40, 60, 120, 300, 900], registers: [registry],
  });
  const bytes = new Counter({ name: "joypod_node_downloaded_bytes_total", help: "Packed bytes of games made ready.", registers: [registry] });
  const resumes = new Counter({ name: "joypod_node_download_resumes_total", help: "Cut downloads that went on where they were.", registers: [registry] });
  const evictions = new Counter({ name: "joypod_node_evictions_total", help: "Games removed to make room.", registers: [registry] });
  const saves = new Counter({ name: "joypod_node_saves_total", help: "Looks at a changed save directory by what came of them.", labelNames: ["outcome"], registers: [registry] });
  const reachable = new Gauge({ name: "joypod_node_store_reachable", help: "Whether the object store answered when last asked.", registers: [registry] });
  const kept = new Counter({ name: "joypod_node_sessions_kept_total", help: "Session folders set aside for an admin.", registers: [registry] });
  return {
    registry,
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

import { mebibyte } from "#contracts/limits.ts";
import { KubeMetrics } from "#kube/controllers/metrics.ts";
import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from "prom-client";

const seconds = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30];

/** From the smallest saves to the largest games. */
const uploadBytes = [0.01, 0.1, 1, 10, 50, 100, 500, 1024, 5 * 1024, 20 * 1024].map(
  (size) => size * mebibyte,
);

const uploadKinds = ["game", "save"] as const;
/** What is uploaded: a game's archive by its partner, or a save by its player. */
export type UploadKind = (typeof uploadKinds)[number];

const uploadOutcomes = ["stored", "refused", "failed"] as const;
/** How an upload ended: refused for what the client did, failed for what the platform did. */
export type UploadOutcome = (typeof uploadOutcomes)[number];

/** What the API tells Prometheus. */
export class Metrics {
  readonly registry = new Registry();
  /** For what speaks to the Kubernetes API server. */
  readonly kube = new KubeMetrics(this.registry);
  readonly #requests: Histogram<"method" | "route" | "status">;
  readonly #signIns: Counter<"outcome">;
  readonly #saveConflicts: Counter;
  readonly #saveChecks: Counter<"found">;
  readonly #unreadableSaves: Gauge;
  readonly #refusedSaves: Counter;
  readonly #uploads: Counter<"kind" | "outcome">;
  readonly #uploadSizes: Histogram<"kind">;

  constructor() {
    const registers = [this.registry];
    collectDefaultMetrics({ register: this.registry });
    this.#requests = new Histogram({
      name: "joypod_http_request_duration_seconds",
      help: "Time from a request's headers to the end of its response; status 499 where the client left before it began.",
      labelNames: ["method", "route", "status"],
      buckets: seconds,
      registers,
    });
    this.#signIns = new Counter({
      name: "joypod_sign_ins_total",
      help: "Sign-in attempts by outcome.",
      labelNames: ["outcome"],
      registers,
    });
    this.#saveChecks = new Counter({
      name: "joypod_save_checks_total",
      help: "Kept saves that were read to check them, by how they were found.",
      labelNames: ["found"],
      registers,
    });
    this.#unreadableSaves = new Gauge({
      name: "joypod_saves_unreadable",
      help: "Kept saves that are missing or damaged.",
      registers,
    });
    this.#saveConflicts = new Counter({
      name: "joypod_save_conflicts_total",
      help: "Saves that were kept as conflict copies, as their session did not own the slot any longer.",
      registers,
    });
    this.#refusedSaves = new Counter({
      name: "joypod_refused_save_reports_total",
      help: "Looks at reported saves whose key is not one of their session's slot.",
      registers,
    });
    this.#uploads = new Counter({
      name: "joypod_uploads_total",
      help: "Uploads by how they ended: refused for what the client sent, failed by the platform.",
      labelNames: ["kind", "outcome"],
      registers,
    });
    this.#uploadSizes = new Histogram({
      name: "joypod_upload_size_bytes",
      help: "Packed size of archives and saves that were uploaded and stored.",
      labelNames: ["kind"],
      buckets: uploadBytes,
      registers,
    });
    // The first failure is an increase.
    for (const kind of uploadKinds) {
      for (const outcome of uploadOutcomes) this.#uploads.inc({ kind, outcome }, 0);
      this.#uploadSizes.zero({ kind });
    }
  }

  /** One answered request; `route` is the pattern, so that addresses do not multiply series. */
  requestDone(request: { method: string; route: string; status: number; seconds: number }): void {
    this.#requests.observe(
      { method: request.method, route: request.route, status: String(request.status) },
      request.seconds,
    );
  }

  signInDone(outcome: "succeeded" | "failed" | "locked" | "limited" | "csrf"): void {
    this.#signIns.inc({ outcome });
  }

  /** One save that the scrub has read. */
  saveChecked(found: "whole" | "missing" | "damaged"): void {
    this.#saveChecks.inc({ found });
  }

  /** How many kept saves are known to be unreadable; told by the process that leads, the others say 0. */
  setUnreadableSaves(count: number): void {
    this.#unreadableSaves.set(count);
  }

  /** One save that was kept as a conflict copy. */
  saveConflictStored(): void {
    this.#saveConflicts.inc();
  }

  /** A reported save that is not believed. */
  saveRefused(): void {
    this.#refusedSaves.inc();
  }

  /** One upload that has ended; `bytes` is the size of what was stored. */
  uploadDone(kind: UploadKind, outcome: UploadOutcome, bytes?: number): void {
    this.#uploads.inc({ kind, outcome });
    if (bytes !== undefined) this.#uploadSizes.observe({ kind }, bytes);
  }

  /**
   * Shows which stores answer, by looks that are taken when Prometheus asks; each look has a deadline of its
   * own and rejects when the store does not.
   */
  storesReady(looks: Readonly<Record<string, () => Promise<void>>>): void {
    new Gauge({
      name: "joypod_store_ready",
      help: "1 for each store that answers this replica, else 0.",
      labelNames: ["store"],
      registers: [this.registry],
      async collect() {
        await Promise.all(
          Object.entries(looks).map(async ([store, look]) => {
            const isReady = await look().then(
              () => true,
              () => false,
            );
            this.set({ store }, isReady ? 1 : 0);
          }),
        );
      },
    });
  }

  /** A number that is read when Prometheus asks. */
  gauge(name: string, help: string, read: () => number): void {
    new Gauge({
      name,
      help,
      registers: [this.registry],
      collect() {
        this.set(read());
      },
    });
  }

  /** A counter of any labels, for the part that counts. */
  counter<Label extends string>(name: string, help: string, labelNames: readonly Label[]): Counter<Label> {
    return new Counter({ name, help, labelNames: [...labelNames], registers: [this.registry] });
  }
}

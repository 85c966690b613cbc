import { mebibyte } from "#contracts/limits.ts";
import { KubeMetrics } from "#kube/controllers/metrics.ts";
import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from "prom-client";

const seconds = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30];

/** From the smallest saves to the largest games. */
const uploadBytes = [0.01, 0.1, 1, 10, 50, 100, 500, 1024, 5 * 1024, 20 * 1024].map(
  (size) => size * mebibyte,
);

const uploadKinds = ["game", "save"] as const;
/** The kind of upload: a game's archive by its partner, or a save by its player. */
export type UploadKind = (typeof uploadKinds)[number];

const uploadOutcomes = ["stored", "refused", "failed"] as const;
/** Outcome of an upload: `refused` because of the client, `failed` because of the platform. */
export type UploadOutcome = (typeof uploadOutcomes)[number];

const queueDepartures = ["seated", "left", "silent", "unconfirmed", "unavailable"] as const;
/** Why a launch left the queue. */
export type QueueDeparture = (typeof queueDepartures)[number];

const attemptResults = ["succeeded", "failed", "exhausted"] as const;
/** Result of an attempt to send a webhook: `exhausted` if it was the last one. */
export type WebhookAttemptResult = (typeof attemptResults)[number];

/** The API's Prometheus metrics. */
export class Metrics {
  readonly registry = new Registry();
  /** Metrics of Kubernetes API clients. */
  readonly kube = new KubeMetrics(this.registry);
  readonly #requests: Histogram<"method" | "route" | "status">;
  readonly #signIns: Counter<"outcome">;
  readonly #mails: Counter<"outcome">;
  readonly #saveConflicts: Counter;
  readonly #saveChecks: Counter<"found">;
  readonly #unreadableSaves: Gauge;
  readonly #refusedSaves: Counter;
  readonly #queueDepartures: Counter<"reason">;
  readonly #webhookAttempts: Counter<"result">;
  readonly #uploads: Counter<"kind" | "outcome">;
  readonly #uploadSizes: Histogram<"kind">;

  constructor() {
    const registers = [this.registry];
    collectDefaultMetrics({ register: this.registry });
    this.#requests = new Histogram({
      name: "joypod_http_request_duration_seconds",
      help: "HTTP request duration in seconds, from the request's headers to the end of the response; status 499 means that the client left before the response began.",
      labelNames: ["method", "route", "status"],
      buckets: seconds,
      registers,
    });
    this.#signIns = new Counter({
      name: "joypod_sign_ins_total",
      help: "Sign-in attempts, by outcome.",
      labelNames: ["outcome"],
      registers,
    });
    this.#mails = new Counter({
      name: "joypod_mails_total",
      help: "Mails to players, by outcome: sent, or failed after all retries.",
      labelNames: ["outcome"],
      registers,
    });
    this.#saveChecks = new Counter({
      name: "joypod_save_checks_total",
      help: "Completed integrity checks of stored saves, by result.",
      labelNames: ["found"],
      registers,
    });
    this.#unreadableSaves = new Gauge({
      name: "joypod_saves_unreadable",
      help: "Saves found to be missing from the object store or damaged; 0 on replicas that do not lead.",
      registers,
    });
    this.#saveConflicts = new Counter({
      name: "joypod_save_conflicts_total",
      help: "Saves kept as conflict copies: their session no longer owned the slot, or the sweeper found them unrecorded.",
      registers,
    });
    this.#refusedSaves = new Counter({
      name: "joypod_refused_save_reports_total",
      help: "Save reports refused because the object key is outside the session's slot; a report counts again on every check.",
      registers,
    });
    this.#queueDepartures = new Counter({
      name: "joypod_queue_departures_total",
      help: "Launches that left the queue, by reason: their player confirmed a seat, left, was silent or did not confirm, or the game became unavailable.",
      labelNames: ["reason"],
      registers,
    });
    for (const reason of queueDepartures) this.#queueDepartures.inc({ reason }, 0);
    this.#webhookAttempts = new Counter({
      name: "joypod_webhook_attempts_total",
      help: "Attempts to send webhooks, by result: succeeded, failed, or exhausted (the last one failed).",
      labelNames: ["result"],
      registers,
    });
    for (const result of attemptResults) this.#webhookAttempts.inc({ result }, 0);
    this.#uploads = new Counter({
      name: "joypod_uploads_total",
      help: "Finished uploads, by outcome: stored, refused (client error) or failed (platform error).",
      labelNames: ["kind", "outcome"],
      registers,
    });
    this.#uploadSizes = new Histogram({
      name: "joypod_upload_size_bytes",
      help: "Packed size of stored uploads in bytes.",
      labelNames: ["kind"],
      buckets: uploadBytes,
      registers,
    });
    // Series start at 0, so that the first failure counts as an increase.
    for (const outcome of ["sent", "failed"]) this.#mails.inc({ outcome }, 0);
    for (const kind of uploadKinds) {
      for (const outcome of uploadOutcomes) this.#uploads.inc({ kind, outcome }, 0);
      this.#uploadSizes.zero({ kind });
    }
  }

  /** Counts a request; `route` is the pattern, so addresses do not multiply series. */
  requestDone(request: { method: string; route: string; status: number; seconds: number }): void {
    this.#requests.observe(
      { method: request.method, route: request.route, status: String(request.status) },
      request.seconds,
    );
  }

  signInDone(outcome: "succeeded" | "failed" | "disabled" | "locked" | "limited" | "csrf"): void {
    this.#signIns.inc({ outcome });
  }

  /** Counts a mail to a player. */
  mailDone(outcome: "sent" | "failed"): void {
    this.#mails.inc({ outcome });
  }

  /** Counts a save read by the scrub. */
  saveChecked(found: "whole" | "missing" | "damaged"): void {
    this.#saveChecks.inc({ found });
  }

  /** Sets the number of unreadable saves, which the leader reports; other replicas report 0. */
  setUnreadableSaves(count: number): void {
    this.#unreadableSaves.set(count);
  }

  /** Counts a save kept as a conflict copy. */
  saveConflictStored(): void {
    this.#saveConflicts.inc();
  }

  /** Counts a reported save that was rejected. */
  saveRefused(): void {
    this.#refusedSaves.inc();
  }

  /** Counts a launch that left the queue. */
  queueLeft(reason: QueueDeparture): void {
    this.#queueDepartures.inc({ reason });
  }

  /** Registers the queue's length and oldest wait, which are read on each scrape; NaN if that fails. */
  queueState(read: () => Promise<{ length: number; oldestWaitSeconds: number }>): void {
    const readOrNothing = (): Promise<{ length: number; oldestWaitSeconds: number }> =>
      read().catch(() => ({ length: Number.NaN, oldestWaitSeconds: Number.NaN }));
    new Gauge({
      name: "joypod_queue_length",
      help: "Launches that wait in the queue. All replicas report the same.",
      registers: [this.registry],
      async collect() {
        this.set((await readOrNothing()).length);
      },
    });
    new Gauge({
      name: "joypod_queue_oldest_wait_seconds",
      help: "Time since the arrival of the first launch in the queue; 0 if it is empty. All replicas report the same.",
      registers: [this.registry],
      async collect() {
        this.set((await readOrNothing()).oldestWaitSeconds);
      },
    });
  }

  /** Counts an attempt to send a webhook. */
  webhookAttempted(result: WebhookAttemptResult): void {
    this.#webhookAttempts.inc({ result });
  }

  /**
   * Registers for how long the oldest due webhook has been due, which is read on each scrape; NaN if that
   * fails.
   */
  webhookOldestDue(read: () => Promise<number>): void {
    new Gauge({
      name: "joypod_webhook_oldest_due_seconds",
      help: "How long the oldest webhook that is due has been due, in seconds; 0 if none is.",
      registers: [this.registry],
      async collect() {
        this.set(await read().catch(() => Number.NaN));
      },
    });
  }

  /** Counts an upload; `bytes` is the size of a stored one. */
  uploadDone(kind: UploadKind, outcome: UploadOutcome, bytes?: number): void {
    this.#uploads.inc({ kind, outcome });
    if (bytes !== undefined) this.#uploadSizes.observe({ kind }, bytes);
  }

  /**
   * Registers store readiness, which is checked on each scrape. Each check has its own deadline and rejects
   * if the store does not respond.
   */
  storesReady(looks: Readonly<Record<string, () => Promise<void>>>): void {
    new Gauge({
      name: "joypod_store_ready",
      help: "1 if the store responds to this replica, 0 if not.",
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

  /** Registers a gauge that is read on each scrape. */
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

  /** Registers a counter for another component. */
  counter<Label extends string>(name: string, help: string, labelNames: readonly Label[]): Counter<Label> {
    return new Counter({ name, help, labelNames: [...labelNames], registers: [this.registry] });
  }
}

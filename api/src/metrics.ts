import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from "prom-client";

const seconds = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30];

/** What the API tells Prometheus. */
export class Metrics {
  readonly registry = new Registry();
  readonly #requests: Histogram<"method" | "route" | "status">;
  readonly #signIns: Counter<"outcome">;
  readonly #saveConflicts: Counter;
  readonly #saveChecks: Counter<"found">;
  readonly #unreadableSaves: Gauge;

  constructor() {
    const registers = [this.registry];
    collectDefaultMetrics({ register: this.registry });
    this.#requests = new Histogram({
      name: "joypod_http_request_duration_seconds", help: "Time from a request's headers to the end of its answer.",
      labelNames: ["method", "route", "status"], buckets: seconds, registers,
    });
    this.#signIns = new Counter({ name: "joypod_sign_ins_total", help: "Sign-in attempts by outcome.", labelNames: ["outcome"], registers });
    this.#saveChecks = new Counter({ name: "joypod_save_checks_total", help: "Kept saves that were read to check them, by how they were found.", labelNames: ["found"], registers });
    this.#unreadableSaves = new Gauge({ name: "joypod_saves_unreadable", help: "Kept saves that are missing or damaged.", registers });
    this.#saveConflicts = new Counter({
      name: "joypod_save_conflicts_total", help: "Saves that were kept as conflict copies, as their session did not own the slot any longer.", registers,
    });
  }

  /** One answered request; `route` is the pattern, so that addresses do not multiply series. */
  requestDone(request: { method: string; route: string; status: number; seconds: number }): void {
    this.#requests.observe({ method: request.method, route: request.route, status: String(request.status) }, request.seconds);
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

  /** A number that is read when Prometheus asks. */
  gauge(name: string, help: string, read: () => number): void {
    new Gauge({ name, help, registers: [this.registry], collect() { this.set(read()); } });
  }

  /** A counter of any labels, for the part that counts. */
  counter<Label extends string>(name: string, help: string, labelNames: readonly Label[]): Counter<Label> {
    return new Counter({ name, help, labelNames: [...labelNames], registers: [this.registry] });
  }
}

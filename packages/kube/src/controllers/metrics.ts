import { Counter, Gauge, Histogram, type Registry } from "prom-client";
import type { ControllerMetrics } from "./controller.ts";
import type { ReflectorMetrics } from "../cache/reflector.ts";
import type { RequestMetrics } from "../client/request.ts";

const seconds = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60];

/** Exports whether this replica is the leader. */
export function showLeader(registry: Registry, program: string, isLeader: () => boolean): void {
  new Gauge({
    name: "joypod_leader",
    help: "1 on the program's leader, 0 on its other replicas.",
    labelNames: ["program"],
    registers: [registry],
    collect() {
      this.set({ program }, isLeader() ? 1 : 0);
    },
  });
}

/** The metrics of this package in one registry. Pass its parts to transports, reflectors and controllers. */
export class KubeMetrics {
  readonly #requests: Counter<"method" | "resource" | "code">;
  readonly #requestSeconds: Histogram<"method">;
  readonly #depth: Gauge<"controller">;
  readonly #waitSeconds: Histogram<"controller">;
  readonly #retries: Counter<"controller">;
  readonly #reconciles: Counter<"controller" | "outcome">;
  readonly #reconcileSeconds: Histogram<"controller">;
  readonly #watchEnds: Counter<"resource" | "reason">;
  readonly #objects: Gauge<"resource">;
  readonly #drift: Counter<"resource">;
  readonly #rejected: Counter<"resource">;

  constructor(registry: Registry) {
    const registers = [registry];
    this.#requests = new Counter({
      name: "joypod_kube_client_requests_total",
      help: "Requests sent to the Kubernetes API server; code is empty if no response arrived.",
      labelNames: ["method", "resource", "code"],
      registers,
    });
    this.#requestSeconds = new Histogram({
      name: "joypod_kube_client_request_seconds",
      help: "Time from sending a request to receiving the response headers, in seconds.",
      labelNames: ["method"],
      buckets: seconds,
      registers,
    });
    this.#depth = new Gauge({
      name: "joypod_kube_workqueue_depth",
      help: "Keys waiting for a worker.",
      labelNames: ["controller"],
      registers,
    });
    this.#waitSeconds = new Histogram({
      name: "joypod_kube_workqueue_wait_seconds",
      help: "Time that keys waited for a worker, in seconds.",
      labelNames: ["controller"],
      buckets: seconds,
      registers,
    });
    this.#retries = new Counter({
      name: "joypod_kube_workqueue_retries_total",
      help: "Keys requeued after a failure.",
      labelNames: ["controller"],
      registers,
    });
    this.#reconciles = new Counter({
      name: "joypod_kube_reconciles_total",
      help: "Reconciles, by outcome.",
      labelNames: ["controller", "outcome"],
      registers,
    });
    this.#reconcileSeconds = new Histogram({
      name: "joypod_kube_reconcile_seconds",
      help: "Duration of reconciles in seconds.",
      labelNames: ["controller"],
      buckets: seconds,
      registers,
    });
    this.#watchEnds = new Counter({
      name: "joypod_kube_watch_ends_total",
      help: "Watches that ended, by reason.",
      labelNames: ["resource", "reason"],
      registers,
    });
    this.#objects = new Gauge({
      name: "joypod_kube_cache_objects",
      help: "Objects in the last full list.",
      labelNames: ["resource"],
      registers,
    });
    this.#drift = new Counter({
      name: "joypod_kube_cache_drift_total",
      help: "Object changes that the watch missed and a relist found.",
      labelNames: ["resource"],
      registers,
    });
    this.#rejected = new Counter({
      name: "joypod_kube_cache_rejected_total",
      help: "Objects left out of the cache because they could not be parsed.",
      labelNames: ["resource"],
      registers,
    });
  }

  /** Metrics for a KubeTransport. */
  readonly requests: RequestMetrics = {
    requestDone: ({ method, resource, status, seconds: duration }) => {
      this.#requests.inc({ method, resource, code: status === undefined ? "" : String(status) });
      this.#requestSeconds.observe({ method }, duration);
    },
  };

  /** Metrics for a Reflector. `resource` is the plural name. */
  reflector(resource: string): ReflectorMetrics {
    return {
      listed: (objects) => this.#objects.set({ resource }, objects),
      watchEnded: (reason) => this.#watchEnds.inc({ resource, reason }),
      drifted: (objects) => this.#drift.inc({ resource }, objects),
      rejected: () => this.#rejected.inc({ resource }),
    };
  }

  /** Metrics for a Controller with this name, and its queue. */
  controller(controller: string): ControllerMetrics {
    return {
      depth: (length) => this.#depth.set({ controller }, length),
      waited: (duration) => this.#waitSeconds.observe({ controller }, duration),
      retried: () => this.#retries.inc({ controller }),
      reconciled: (outcome, duration) => {
        this.#reconciles.inc({ controller, outcome });
        this.#reconcileSeconds.observe({ controller }, duration);
      },
    };
  }
}

import { Counter, Gauge, Histogram, type Registry } from "prom-client";

/** What the operator counts about sessions. */
export interface OperatorMetrics {
  /** Seconds from a session's creation to its first Ready. */
  sessionReady(seconds: number): void;
  /** A session ended, for that reason. */
  sessionFinished(reason: string): void;
  /** A session that was to have a GPU renders in software, for that reason. */
  sessionUnaccelerated(reason: string): void;
  /** Whether silent game nodes are not declared lost, as too many are silent. */
  nodeLossBraked(isBraked: boolean): void;
  /** Whether the cluster was found to enforce NetworkPolicies. */
  networkPoliciesEnforced(isEnforced: boolean): void;
}

/** The operator's counters, in the registry that /metrics shows. */
export function createOperatorMetrics(registry: Registry): OperatorMetrics {
  const ready = new Histogram({
    name: "joypod_session_start_seconds",
    help: "Time from a session's creation to its stream being ready.",
    buckets: [0.5, 1, 2, 3, 5, 8, 13, 20, 30, 60, 120],
    registers: [registry],
  });
  const finished = new Counter({
    name: "joypod_sessions_finished_total",
    help: "Sessions that ended, by reason.",
    labelNames: ["reason"],
    registers: [registry],
  });
  const unaccelerated = new Counter({
    name: "joypod_sessions_unaccelerated_total",
    help: "Sessions that were to have a GPU and render in software, by reason.",
    labelNames: ["reason"],
    registers: [registry],
  });
  const braked = new Gauge({
    name: "joypod_operator_node_loss_brake",
    help: "1 while so many game nodes are silent together that none is declared lost, else 0.",
    registers: [registry],
  });
  // It is created with its first value: until then the answer is not known, and 0 would say that it is.
  let enforced: Gauge | undefined;
  return {
    sessionReady: (seconds) => ready.observe(seconds),
    sessionFinished: (reason) => finished.inc({ reason }),
    sessionUnaccelerated: (reason) => unaccelerated.inc({ reason }),
    nodeLossBraked: (isBraked) => braked.set(isBraked ? 1 : 0),
    networkPoliciesEnforced: (isEnforced) => {
      enforced ??= new Gauge({
        name: "joypod_operator_network_policies_enforced",
        help: "1 when session pods were found to be held back by NetworkPolicies, 0 when not; absent where it is not probed.",
        registers: [registry],
      });
      enforced.set(isEnforced ? 1 : 0);
    },
  };
}

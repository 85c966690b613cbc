import type { KubeApiServer } from "#test/support/cluster/kubeApiServer.ts";
import { cpuMsOf } from "./processFigures.ts";

/** Verbs of long-running requests, which are not counted. */
const lasting: ReadonlySet<string> = new Set(["WATCH", "CONNECT"]);
/** Requests that occur less often per life are ignored. */
const leastPerLife = 0.05;

/** The cost of session lives: requests to the API server, and processor time of each program. */
export interface LifeCosts {
  /** Requests per life, by verb and resource. */
  requests: Map<string, number>;
  /** Milliseconds per life, by program. */
  processorMs: Map<string, number>;
}

/**
 * Runs `work`, which consists of the given number of lives, and returns its result with the cost per life.
 * `programs` maps names to process ids.
 */
export async function withCosts<T>(
  server: KubeApiServer,
  programs: Record<string, number>,
  lives: number,
  work: () => Promise<T>,
): Promise<{ result: T; costs: LifeCosts }> {
  const times = (): Map<string, number> =>
    new Map(Object.entries(programs).map(([name, pid]) => [name, cpuMsOf(pid)]));
  const [requestsBefore, timesBefore] = [await requestsTo(server), times()];
  const result = await work();
  const [timesAfter, requestsAfter] = [times(), await requestsTo(server)];
  return {
    result,
    costs: {
      requests: perLife(requestsAfter, requestsBefore, lives),
      processorMs: perLife(timesAfter, timesBefore, lives),
    },
  };
}

/** Formats the costs in one line, highest first. */
export function costText({ requests, processorMs }: LifeCosts): string {
  const list = (figures: Map<string, number>, unit: string, digits: number): string =>
    [...figures]
      .filter(([, figure]) => figure >= leastPerLife)
      .toSorted(([, a], [, b]) => b - a)
      .map(([name, figure]) => `${name} ${figure.toFixed(digits)}${unit}`)
      .join(", ");
  return `processor time per life: ${list(processorMs, " ms", 0)}; requests per life: ${list(requests, "", 1)}`;
}

/** Returns the number of matching requests per life. Requests are written as, for example, `POST events`. */
export function requestsPerLife({ requests }: LifeCosts, matches: (request: string) => boolean): number {
  return [...requests].reduce((sum, [request, count]) => (matches(request) ? sum + count : sum), 0);
}

function perLife(
  after: Map<string, number>,
  before: Map<string, number>,
  lives: number,
): Map<string, number> {
  return new Map([...after].map(([name, figure]) => [name, (figure - (before.get(name) ?? 0)) / lives]));
}

/** Returns the requests that the API server has counted, by verb and resource. */
async function requestsTo(server: KubeApiServer): Promise<Map<string, number>> {
  const counts = new Map<string, number>();
  for (const line of (await server.metrics()).split("\n")) {
    const [, labels, count] = /^apiserver_request_total\{(.*)\} (\d+)$/.exec(line) ?? [];
    if (labels === undefined) continue;
    const label = (name: string): string => new RegExp(`\\b${name}="([^"]*)"`).exec(labels)?.[1] ?? "";
    if (lasting.has(label("verb"))) continue;
    const subresource = label("subresource");
    const request = `${label("verb")} ${label("resource")}${subresource === "" ? "" : `/${subresource}`}`;
    counts.set(request, (counts.get(request) ?? 0) + Number(count));
  }
  return counts;
}

import type { KubeApiServer } from "#test/support/cluster/kubeApiServer.ts";
import { cpuMsOf } from "./processFigures.ts";

/** Verbs of requests that last as long as somebody wants to hear; they are no cost of a life. */
const lasting: ReadonlySet<string> = new Set(["WATCH", "CONNECT"]);
/** What comes less often than once in so many lives is no part of one. */
const leastPerLife = 0.05;

/** What so many lives cost: requests to the API server, and the processor time of each program. */
export interface LifeCosts {
  /** Requests per life, by verb and resource. */
  requests: Map<string, number>;
  /** Milliseconds per life, by program. */
  processorMs: Map<string, number>;
}

/**
 * Runs the work, which is so many lives, and returns what it returns, with what a life of it cost. `programs`
 * are process ids by name.
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

/** Returns the costs as one line, the highest first. */
export function costText({ requests, processorMs }: LifeCosts): string {
  const list = (figures: Map<string, number>, unit: string, digits: number): string =>
    [...figures]
      .filter(([, figure]) => figure >= leastPerLife)
      .toSorted(([, a], [, b]) => b - a)
      .map(([name, figure]) => `${name} ${figure.toFixed(digits)}${unit}`)
      .join(", ");
  return `processor time per life: ${list(processorMs, " ms", 0)}; requests per life: ${list(requests, "", 1)}`;
}

/** Returns how many requests of that verb and resource a life cost; `POST events`, for example. */
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

/** Requests that the API server has counted, by verb and resource. */
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

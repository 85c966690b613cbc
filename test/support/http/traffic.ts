import type { ApiResponse } from "./apiClient.ts";

/** Outcome of many requests. */
export interface Traffic {
  /** Number of responses by status. */
  statuses: Record<number, number>;
  responses: ApiResponse[];
  p99Ms: number;
}

/** Sends `count` requests, a few at a time. */
export async function sendTraffic(
  total: number,
  send: (index: number) => Promise<ApiResponse>,
  atOnce = 5,
): Promise<Traffic> {
  const statuses: Record<number, number> = {};
  const responses: ApiResponse[] = [];
  const milliseconds: number[] = [];
  let next = 0;
  await Promise.all(
    Array.from({ length: atOnce }, async () => {
      while (next < total) {
        const startedMs = performance.now();
        const response = await send(next++);
        milliseconds.push(performance.now() - startedMs);
        responses.push(response);
        statuses[response.status] = (statuses[response.status] ?? 0) + 1;
      }
    }),
  );
  const sorted = milliseconds.toSorted((a, b) => a - b);
  return { statuses, responses, p99Ms: sorted[Math.ceil(sorted.length * 0.99) - 1] ?? 0 };
}

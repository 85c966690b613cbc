import { KubeError } from "#kube/api/errors.ts";
import type { KubeTransport } from "#kube/client/transport.ts";

/** Which log, and how many of its last lines. */
export interface PodLogQuery {
  namespace: string;
  pod: string;
  container: string;
  tailLines: number;
  /** Of the container's life before this one. */
  previous?: boolean;
}

const idleDeadlineMs = 10_000;

/**
 * Returns the last lines of a container's log; none when it has no log (yet, or any more), or it may not be
 * read.
 */
export async function readPodLog(
  transport: KubeTransport,
  { namespace, pod, container, tailLines, previous }: PodLogQuery,
): Promise<string[]> {
  const lines: string[] = [];
  try {
    const path = `/api/v1/namespaces/${namespace}/pods/${pod}/log`;
    for await (const line of transport.watch({
      path,
      query: { container, tailLines, previous },
      idleDeadlineMs,
      resource: "pods/log",
    }))
      lines.push(line);
  } catch (error) {
    // A log may end within a line; what came until then is what there is.
    if (!(error instanceof KubeError)) throw error;
  }
  return lines;
}

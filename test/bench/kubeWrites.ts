import { namespaceOf, type Platform } from "#test/e2e/support/platform.ts";

const metricsPorts = { api: 8083, operator: 8081, "node-agent": 8082 } as const;
const writeMethods = new Set(["POST", "PUT", "PATCH", "DELETE"]);
const sessionResources = new Set(["gamesessions", "gamesessions/status", "pods"]);

/**
 * Returns the writes about sessions and their pods that all programs have sent to the API server since they
 * started.
 */
export async function sessionWrites(platform: Platform): Promise<number> {
  const counts = await Promise.all(
    Object.entries(metricsPorts).map(([component, port]) => writesOf(platform, component, port)),
  );
  return counts.reduce((sum, count) => sum + count, 0);
}

async function writesOf(platform: Platform, component: string, port: number): Promise<number> {
  const { items } = await platform.pods.list({
    namespace: namespaceOf(component),
    labelSelector: `app.kubernetes.io/component=${component}`,
  });
  const texts = await Promise.all(
    items.map(({ metadata }) =>
      platform.kubectl([
        "get",
        "--raw",
        `/api/v1/namespaces/${namespaceOf(component)}/pods/${metadata.name}:${port}/proxy/metrics`,
      ]),
    ),
  );
  return texts.flatMap((text) => text.split("\n")).reduce((sum, line) => sum + countOf(line), 0);
}

function countOf(line: string): number {
  const parts = /^joypod_kube_client_requests_total\{(.*)\} (\d+)$/.exec(line);
  if (parts === null) return 0;
  const label = (name: string): string | undefined =>
    new RegExp(`${name}="([^"]*)"`).exec(parts[1] ?? "")?.[1];
  return writeMethods.has(label("method") ?? "") && sessionResources.has(label("resource") ?? "")
    ? Number(parts[2])
    : 0;
}

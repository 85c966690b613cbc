import { z } from "zod";
import { gameSessionKind, type GameSession } from "#contracts/crd/gameSession.ts";
import { pods, type Pod } from "#kube/api/builtin.ts";
import { ResourceClient } from "#kube/client/resourceClient.ts";
import { KubeTransport } from "#kube/client/transport.ts";
import type { InvariantStores } from "#test/support/invariants/invariantStores.ts";
import { DatabaseShell } from "./databaseShell.ts";
import { platform, releaseNamespace, sessionsNamespace } from "./platform.ts";
import { signedAddresses } from "./storedSave.ts";

/** Limits, because an API server that a test has stopped must not delay the next check. */
const transportOptions = { deadlineMs: 10_000, maxAttempts: 1 };

/** Reads URLs by key from standard input, and prints the digests of the existing objects. */
const digestScript = `
const { createHash } = require("node:crypto");
(async () => {
  const digests = {};
  for (const [key, address] of Object.entries(JSON.parse(require("node:fs").readFileSync(0, "utf8")))) {
    const response = await fetch(address);
    if (response.status === 404) continue;
    if (!response.ok) throw new Error(key + ": " + response.status);
    const hash = createHash("sha256");
    for await (const chunk of response.body) hash.update(chunk);
    digests[key] = hash.digest("hex");
  }
  process.stdout.write(JSON.stringify(digests));
})();`;

/**
 * Opens the stores of the running platform. The database and the object store can be reached only inside the
 * cluster.
 */
export async function openPlatformStores(): Promise<InvariantStores & { close: () => void }> {
  const installed = await platform();
  const transport = KubeTransport.fromFile(installed.kubeconfig, transportOptions);
  const [sessionClient, podClient] = [
    new ResourceClient<GameSession>(transport, gameSessionKind),
    new ResourceClient<Pod>(transport, pods),
  ];
  const database = new DatabaseShell(installed);
  return {
    json: (sql) => database.json(sql),
    gameSessions: async () => (await sessionClient.listAll({ namespace: sessionsNamespace })).items,
    pods: async () => (await podClient.listAll({ namespace: sessionsNamespace })).items,
    async digestsOf(objectKeys) {
      const addresses = await signedAddresses(objectKeys);
      const input = JSON.stringify(
        Object.fromEntries(objectKeys.map((key, index) => [key, addresses[index]])),
      );
      const printed = await installed.kubectl(
        [
          "-n",
          releaseNamespace,
          "exec",
          "-i",
          "deploy/joypod-api",
          "-c",
          "api",
          "--",
          "node",
          "-e",
          digestScript,
        ],
        input,
      );
      return new Map(Object.entries(z.record(z.string(), z.string()).parse(JSON.parse(printed))));
    },
    close: () => database.close(),
  };
}

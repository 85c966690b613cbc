// Program of a `helm test` pod: prints how each game node would encode and render a session's picture. Reads
// the operator's environment variables for session pods.
import PQueue from "p-queue";
import { gameNodeSelectorOf } from "#contracts/crd/installation.ts";
import { gameNodes } from "#contracts/crd/gameNode.ts";
import { pods } from "#kube/api/builtin.ts";
import { ResourceClient } from "#kube/client/resourceClient.ts";
import { KubeTransport } from "#kube/client/transport.ts";
import { systemClock } from "#runtime/scheduling/clock.ts";
import { orExit } from "#runtime/program/program.ts";
import { readConfig } from "../config.ts";
import { removePods } from "../sessionPods/shortLivedPods.ts";
import { hasPassed, nodeReport, nodeTestSelector, testNode } from "./testNode.ts";

/** Nodes are independent, but one registry may serve the pulls of all. */
const nodesAtOnce = 20;

const { sessionsNamespace: namespace, installation, sessionPod } = orExit(() => readConfig(process.env));
const transport = KubeTransport.fromDefault({ userAgent: "joypod-node-test" });
try {
  const deps = {
    pods: new ResourceClient(transport, pods),
    namespace,
    config: sessionPod,
    clock: systemClock,
  };
  // Left over from a test that was killed.
  await removePods(deps.pods, { namespace, labelSelector: nodeTestSelector });
  const { items } = await new ResourceClient(transport, gameNodes).listAll({
    labelSelector: gameNodeSelectorOf(installation),
  });
  const names = items.map(({ metadata }) => metadata.name).sort();
  if (names.length === 0) process.stdout.write("No game node exists. See gameNodes.selector.\n");
  const queue = new PQueue({ concurrency: nodesAtOnce });
  const areRight = await Promise.all(
    names.map((name) =>
      queue.add(async () => {
        const result = await testNode(name, deps);
        process.stdout.write(nodeReport(name, result));
        return hasPassed(result);
      }),
    ),
  );
  process.exitCode = names.length > 0 && areRight.every(Boolean) ? 0 : 1;
} finally {
  await transport.close();
}

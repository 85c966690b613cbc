// What `helm test` runs: prints of each game node what sessions' pictures are made with there. Its
// environment is the operator's, as far as it is about session pods.
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
import { isRight, nodeReport, nodeTestSelector, testNode } from "./testNode.ts";

/** Nodes share nothing, but a registry may pull for all of them. */
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
  await removePods(deps.pods, { namespace, labelSelector: nodeTestSelector }); // of a test that was killed
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
        return isRight(result);
      }),
    ),
  );
  process.exitCode = names.length > 0 && areRight.every(Boolean) ? 0 : 1;
} finally {
  await transport.close();
}

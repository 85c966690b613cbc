import { expect } from "chai";
import type { Pod } from "#kube/api/builtin.ts";
import { podRequests } from "#operator/cluster/podRequests.ts";
import { sessionPods } from "#operator/cluster/watchedPods.ts";
import { readConfig } from "#operator/config.ts";
import { buildPod } from "#operator/controllers/gameSession/pod.ts";
import { hostPortsOf, isReady, nodeOfPod } from "#operator/sessionPods/podState.ts";
import { aGameSession } from "#test/factories/gameSession.ts";
import { running } from "#test/factories/sessionPod.ts";

describe("sessionPods", () => {
  const { sessionPod } = readConfig({ STREAMER_IMAGE: "streamer:test", GAME_IMAGE: "game:test" });
  const place = { nodeName: "node1", mediaPort: 20_007, addresses: ["192.0.2.1"], operatorPublicKey: "key" };
  const whole: Pod = {
    apiVersion: "v1",
    kind: "Pod",
    ...buildPod(aGameSession(), place, sessionPod),
    status: running,
  };
  const kept = sessionPods.parse?.(structuredClone(whole)) ?? whole;

  it("keeps the fields that decisions use", () => {
    expect(kept.metadata).to.deep.equal(whole.metadata);
    expect(kept.status).to.deep.equal(whole.status);
    expect([nodeOfPod(kept), hostPortsOf(kept), podRequests(kept), isReady(kept)]).to.deep.equal([
      "node1",
      [20_007],
      podRequests(whole),
      true,
    ]);
    expect(kept.spec?.containers[0]?.resources).to.deep.equal(whole.spec?.containers[0]?.resources);
  });

  it("takes a third of the size of the API server's response", () => {
    expect(JSON.stringify(kept.spec).length).to.be.below(JSON.stringify(whole.spec).length / 3);
  });
});

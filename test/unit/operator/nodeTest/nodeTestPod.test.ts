import { expect } from "chai";
import { isSessionPod, nodeOfPod } from "#operator/sessionPods/podState.ts";
import { readConfig } from "#operator/config.ts";
import { buildNodeTestPod } from "#operator/nodeTest/testNode.ts";

const images = { STREAMER_IMAGE: "streamer:1", GAME_IMAGE: "game:1" };

function build(environment: Record<string, string>) {
  const pod = {
    apiVersion: "v1" as const,
    kind: "Pod" as const,
    ...buildNodeTestPod("node1", "joypod-sessions", readConfig({ ...images, ...environment }).sessionPod),
  };
  const [container] = pod.spec?.containers ?? [];
  if (!pod.spec || !container) throw new Error("The pod has no container.");
  return { pod, spec: pod.spec, container };
}

describe("buildNodeTestPod", () => {
  it("has no rights, ends on its node by a deadline, and has no session labels", () => {
    const { pod, spec, container } = build({ GPU_RESOURCE_NAME: "" });
    expect(spec).to.include({
      automountServiceAccountToken: false,
      enableServiceLinks: false,
      restartPolicy: "Never",
      activeDeadlineSeconds: 150,
    });
    expect(spec.securityContext).to.deep.include({
      runAsNonRoot: true,
      seccompProfile: { type: "RuntimeDefault" },
    });
    expect(container.securityContext).to.deep.equal({
      readOnlyRootFilesystem: true,
      allowPrivilegeEscalation: false,
      capabilities: { drop: ["ALL"] },
    });
    expect(container.env).to.deep.include({ name: "PROFILE", value: "software" });
    expect(nodeOfPod(pod)).to.equal("node1");
    expect(isSessionPod(pod)).to.equal(false);
  });

  it("has the same GPU access as a session's streamer", () => {
    const shared = build({
      GPU_RESOURCE_NAME: "nvidia.com/gpu.shared",
      GPU_STREAMER_COUNT: "1",
      GPU_GROUPS: "44",
      DISPLAY_SERVER: "xwayland",
    });
    expect(shared.container.resources?.limits).to.include({ "nvidia.com/gpu.shared": "1" });
    expect(shared.container.env).to.deep.include.members([
      { name: "PROFILE", value: "gpu" },
      { name: "DISPLAY_SERVER", value: "xwayland" },
    ]);
    expect(shared.spec.securityContext?.supplementalGroups).to.deep.equal([44]);
    expect(shared.spec.tolerations).to.deep.include({
      key: "nvidia.com/gpu.shared",
      operator: "Exists",
      effect: "NoSchedule",
    });
    const reached = build({ GPU_RUNTIME_CLASS: "nvidia" });
    expect(reached.spec.runtimeClassName).to.equal("nvidia");
    expect(reached.container.resources?.limits, "the game's device").to.not.have.property("nvidia.com/gpu");
    expect(reached.container.env).to.deep.include({ name: "NVIDIA_VISIBLE_DEVICES", value: "all" });
    expect(build({ GPU_RESOURCE_NAME: "", GPU_CLAIM_TEMPLATE: "one-gpu" }).spec.resourceClaims).to.deep.equal(
      [{ name: "gpu", resourceClaimTemplateName: "one-gpu" }],
    );
  });
});

import { expect } from "chai";
import type { Pod } from "#kube/api/builtin.ts";
import { isSessionPod } from "#operator/sessionPods/podState.ts";
import type { ProbeConfig } from "#operator/config.ts";
import { buildProbePod, outcomeOf, type ProbeRole } from "#operator/networkProbe/probePod.ts";
import { aNode } from "#test/factories/gameNode.ts";

const config: ProbeConfig = {
  image: "control-plane:1",
  imagePullPolicy: "IfNotPresent",
  imagePullSecrets: ["pull"],
  gameNodeSelector: [{ key: "gpu", operator: "In", values: ["true"] }],
  tolerations: [{ key: "games.example", operator: "Exists", effect: "NoExecute" }],
  target: { host: "10.0.0.9", port: 8081 },
};
const build = (role: ProbeRole) => buildProbePod(role, "joypod-sessions", config, []);

/**
 * Returns the tolerations of a probe among game nodes with these taints, each written as key=value:effect.
 */
function tolerationsAmong(taints: readonly string[], { tolerations } = config) {
  const gameNodes = taints.map((taint) => {
    const [, key = "", value, effect = ""] = /^([^=:]+)(?:=([^:]+))?:(.+)$/.exec(taint) ?? [];
    const node = aNode();
    return {
      ...node,
      spec: { ...node.spec, taints: [{ key, effect, ...(value === undefined ? {} : { value }) }] },
    };
  });
  return buildProbePod("covered", "joypod-sessions", { ...config, tolerations }, gameNodes).spec?.tolerations;
}

function ended(exitCode: number, phase = exitCode === 0 ? "Succeeded" : "Failed"): Pod {
  const status = {
    name: "probe",
    image: "",
    imageID: "",
    ready: false,
    restartCount: 0,
    state: { terminated: { exitCode } },
  };
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name: "probe" },
    status: { phase, containerStatuses: [status] },
  };
}

describe("buildProbePod", () => {
  for (const role of ["control", "covered"] as const) {
    it(`creates a ${role} pod without rights and with a deadline`, () => {
      const { metadata, spec } = build(role);
      expect(spec).to.include({
        automountServiceAccountToken: false,
        enableServiceLinks: false,
        restartPolicy: "Never",
        activeDeadlineSeconds: 60,
      });
      expect(spec?.imagePullSecrets).to.deep.equal([{ name: "pull" }]);
      expect(spec?.securityContext).to.deep.include({
        runAsNonRoot: true,
        seccompProfile: { type: "RuntimeDefault" },
      });
      expect(spec?.containers[0]?.securityContext).to.deep.equal({
        readOnlyRootFilesystem: true,
        allowPrivilegeEscalation: false,
        capabilities: { drop: ["ALL"] },
      });
      expect(spec?.containers[0]?.resources?.limits).to.have.property("memory");
      expect(spec?.containers[0]?.command).to.include.members(["10.0.0.9", "8081"]);
      expect(isSessionPod({ ...build(role), apiVersion: "v1", kind: "Pod", metadata })).to.be.false;
    });
  }

  it("selects game nodes by any selector", () => {
    expect(
      build("covered").spec?.affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution
        ?.nodeSelectorTerms,
    ).to.deep.equal([{ matchExpressions: [{ key: "gpu", operator: "In", values: ["true"] }] }]);
    expect(
      buildProbePod("covered", "joypod-sessions", { ...config, gameNodeSelector: [] }, []).spec,
    ).to.not.have.property("affinity");
  });

  it("tolerates the taints that sessions tolerate and those that only keep other pods away", () => {
    const taints = [
      "games.example=yes:NoExecute",
      "others.example:NoExecute",
      "pool=new:NoSchedule",
      "pool=new:NoSchedule",
      "node.kubernetes.io/unschedulable:NoSchedule",
    ];
    expect(tolerationsAmong(taints)).to.deep.equal([
      { key: "games.example", operator: "Equal", value: "yes", effect: "NoExecute" },
      { key: "pool", operator: "Equal", value: "new", effect: "NoSchedule" },
      { key: "node.kubernetes.io/unschedulable", operator: "Equal", value: "", effect: "NoSchedule" },
    ]);
  });

  it("does not tolerate taints that report a problem, even if sessions tolerate every taint", () => {
    const taints = [
      "unreachable",
      "not-ready",
      "out-of-service",
      "network-unavailable",
      "disk-pressure",
      "memory-pressure",
      "pid-pressure",
    ].flatMap((name) => [`node.kubernetes.io/${name}:NoSchedule`, `node.kubernetes.io/${name}:NoExecute`]);
    taints.push(
      "node.cloudprovider.kubernetes.io/shutdown:NoSchedule",
      "node.cloudprovider.kubernetes.io/uninitialized:NoSchedule",
    );
    expect(tolerationsAmong(taints)).to.deep.equal([]);
    expect(
      tolerationsAmong([...taints, "games:NoExecute"], { ...config, tolerations: [{ operator: "Exists" }] }),
    ).to.deep.equal([{ key: "games", operator: "Equal", value: "", effect: "NoExecute" }]);
  });

  it("labels only the covered pod like a session with internet access", () => {
    expect(build("covered").metadata.labels).to.include({
      "app.kubernetes.io/component": "game-session",
      "joypod.dev/network": "internet",
      "joypod.dev/network-probe": "covered",
    });
    expect(build("control").metadata.labels)
      .to.include({ "joypod.dev/network-probe": "control" })
      .and.not.have.property("joypod.dev/network");
  });
});

describe("outcomeOf", () => {
  it("returns the result of the probe's exit code, and undefined for any other end", () => {
    expect([ended(0), ended(3), ended(1), ended(137)].map(outcomeOf)).to.deep.equal([
      true,
      false,
      undefined,
      undefined,
    ]);
    expect(
      outcomeOf({
        apiVersion: "v1",
        kind: "Pod",
        metadata: { name: "probe" },
        status: { phase: "Failed", reason: "DeadlineExceeded" },
      }),
    ).to.equal(undefined);
  });
});

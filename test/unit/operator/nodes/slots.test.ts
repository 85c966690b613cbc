import { expect } from "chai";
import type { Toleration } from "#operator/gpu/gpuConfig.ts";
import { unschedulableReason } from "#operator/nodes/slots.ts";
import { aNode } from "#test/factories/gameNode.ts";

describe("unschedulableReason", () => {
  /** Tolerations, a taint as key, value and effect, and whether session pods may be placed on the node. */
  const cases: [Toleration[], [string, string | undefined, string], boolean][] = [
    [[], ["games", undefined, "NoSchedule"], false],
    [[], ["games", undefined, "PreferNoSchedule"], true],
    [[{ key: "games", operator: "Exists" }], ["games", "yes", "NoExecute"], true],
    [[{ key: "games", operator: "Exists", effect: "NoSchedule" }], ["games", "yes", "NoExecute"], false],
    [[{ key: "games", operator: "Exists" }], ["others", "yes", "NoSchedule"], false],
    [[{ key: "games", operator: "Equal", value: "yes" }], ["games", "yes", "NoSchedule"], true],
    [[{ key: "games", value: "yes" }], ["games", "no", "NoSchedule"], false],
    [[{ key: "games" }], ["games", undefined, "NoSchedule"], true],
    [[{ operator: "Exists" }], ["anything", "at all", "NoExecute"], true],
    [[], ["node.kubernetes.io/disk-pressure", undefined, "NoSchedule"], false],
    [[], ["node.kubernetes.io/memory-pressure", undefined, "NoSchedule"], false],
    [[], ["node.kubernetes.io/pid-pressure", undefined, "NoSchedule"], false],
    [[], ["node.kubernetes.io/network-unavailable", undefined, "NoSchedule"], false],
    [[], ["node.kubernetes.io/out-of-service", "nodeshutdown", "NoExecute"], false],
    [
      [{ key: "node.kubernetes.io/disk-pressure", operator: "Exists" }],
      ["node.kubernetes.io/disk-pressure", undefined, "NoSchedule"],
      true,
    ],
    [[], ["node.kubernetes.io/not-ready", undefined, "NoSchedule"], true],
    [[], ["node.kubernetes.io/unreachable", undefined, "NoExecute"], true],
    [[], ["node.kubernetes.io/unschedulable", undefined, "NoSchedule"], true],
    [
      [
        { key: "others", operator: "Exists" },
        { key: "games", operator: "Exists" },
      ],
      ["games", undefined, "NoSchedule"],
      true,
    ],
  ];
  for (const [tolerations, [key, value, effect], isTaken] of cases) {
    it(`${isTaken ? "accepts" : "rejects"} a node with ${key}=${value ?? ""}:${effect} given ${JSON.stringify(tolerations)}`, () => {
      const node = aNode();
      const tainted = {
        ...node,
        spec: { ...node.spec, taints: [{ key, effect, ...(value === undefined ? {} : { value }) }] },
      };
      expect(unschedulableReason(tainted, true, { tolerations, sessionNodeSelector: {} })?.reason).to.equal(
        isTaken ? undefined : "NodeTainted",
      );
    });
  }

  it("names the taint that keeps sessions off a node", () => {
    const node = aNode();
    const full = {
      ...node,
      spec: {
        ...node.spec,
        taints: [
          { key: "node.kubernetes.io/not-ready", effect: "NoExecute" },
          { key: "node.kubernetes.io/disk-pressure", effect: "NoSchedule" },
        ],
      },
    };
    expect(unschedulableReason(full, true, { tolerations: [], sessionNodeSelector: {} })?.message).to.contain(
      "node.kubernetes.io/disk-pressure",
    );
  });

  it("rejects a node without a label that session pods require", () => {
    const node = aNode();
    const labelled = {
      ...node,
      metadata: { ...node.metadata, labels: { ...node.metadata.labels, pool: "new" } },
    };
    const reasonOf = (pool: string) =>
      unschedulableReason(labelled, true, { tolerations: [], sessionNodeSelector: { pool } })?.reason;
    expect(reasonOf("new")).to.equal(undefined);
    expect(reasonOf("old")).to.equal("NodeNotSelected");
  });
});

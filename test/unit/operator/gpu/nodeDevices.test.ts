import { expect } from "chai";
import { aNode } from "#test/factories/gameNode.ts";
import type { GpuConfig } from "#operator/gpu/gpuConfig.ts";
import { gpuSharingOf, gpuSlotsOf } from "#operator/gpu/nodeDevices.ts";

const none: GpuConfig = {
  game: undefined,
  streamer: undefined,
  claim: undefined,
  runtimeClass: undefined,
  driverCapabilities: undefined,
  groups: [],
};
const one = { resourceName: "nvidia.com/gpu", count: 1 };
const offering = (allocatable: Record<string, string>) => aNode("node1", { allocatable });

describe("gpuSlotsOf and gpuSharingOf", () => {
  /**
   * A session's devices, the node's devices, the resulting slots, and the result of condition GpuNotShared.
   */
  const cases: [string, Partial<GpuConfig>, Record<string, string>, number, string][] = [
    ["one unshared device for the game", { game: one }, { "nvidia.com/gpu": "1" }, 1, "True OneContainer"],
    [
      "one unshared device for the game and a runtime class for the streamer",
      { game: one, runtimeClass: "nvidia" },
      { "nvidia.com/gpu": "1" },
      1,
      "False Shared",
    ],
    ["four whole GPUs", { game: one, runtimeClass: "nvidia" }, { "nvidia.com/gpu": "4" }, 4, "False Shared"],
    [
      "a device for the streamer, and a runtime class for the game",
      { streamer: one, runtimeClass: "nvidia" },
      { "nvidia.com/gpu": "1" },
      1,
      "False Shared",
    ],
    [
      "slices for both containers",
      { game: one, streamer: one },
      { "nvidia.com/gpu": "4" },
      2,
      "False Shared",
    ],
    [
      "one slice too few for another session",
      { game: one, streamer: one },
      { "nvidia.com/gpu": "5" },
      2,
      "False Shared",
    ],
    [
      "one device where both containers take one",
      { game: one, streamer: one },
      { "nvidia.com/gpu": "1" },
      0,
      "True TooFewDevices",
    ],
    [
      "several slices for the game",
      { game: { ...one, count: 3 }, streamer: one },
      { "nvidia.com/gpu": "9" },
      2,
      "False Shared",
    ],
    [
      "two resources, one of them scarce",
      { game: one, streamer: { resourceName: "b.example/gpu", count: 2 } },
      { "nvidia.com/gpu": "8", "b.example/gpu": "5" },
      2,
      "False Shared",
    ],
    [
      "a thousand shares, as Kubernetes writes them",
      { game: one, runtimeClass: "nvidia" },
      { "nvidia.com/gpu": "1k" },
      1_000,
      "False Shared",
    ],
    ["no device plugin", { game: one }, {}, 0, "True NoDevices"],
    ["an invalid count", { game: one }, { "nvidia.com/gpu": "many" }, 0, "True NoDevices"],
    [
      "a claim with configured slots",
      { claim: { templateName: "gpu", slotsPerNode: 3 } },
      {},
      3,
      "False Shared",
    ],
    [
      "a claim without configured slots",
      { claim: { templateName: "gpu", slotsPerNode: undefined } },
      {},
      1,
      "True SlotsNotSet",
    ],
  ];
  for (const [what, gpu, allocatable, slots, sharing] of cases) {
    it(`return ${slots} slots and "${sharing}" with ${what}`, () => {
      const node = offering(allocatable);
      expect(gpuSlotsOf(node, { ...none, ...gpu })).to.equal(slots);
      const { status, reason, message } = gpuSharingOf(node, { ...none, ...gpu });
      expect(`${status} ${reason}`).to.equal(sharing);
      if (status === "True") expect(message, "names the value to set").to.match(/gpu\.[a-z]/i);
    });
  }

  it("report no problem if games render in software", () => {
    expect(gpuSharingOf(offering({}), undefined)).to.include({
      status: "False",
      reason: "SoftwareRendering",
    });
  });
});

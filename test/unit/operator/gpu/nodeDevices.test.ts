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

describe("the GPU of a node", () => {
  /**
   * What sessions take, what the node offers, the slots that follow, and what condition GpuNotShared says.
   */
  const cases: [string, Partial<GpuConfig>, Record<string, string>, number, string][] = [
    [
      "one device for the game, which nobody shares",
      { game: one },
      { "nvidia.com/gpu": "1" },
      1,
      "True OneContainer",
    ],
    [
      "the same, and a runtime class for the streamer",
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
      "a slice too few for one more",
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
      "two resources, of which one is scarce",
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
    ["a count that is none", { game: one }, { "nvidia.com/gpu": "many" }, 0, "True NoDevices"],
    [
      "a claim whose slots are told",
      { claim: { templateName: "gpu", slotsPerNode: 3 } },
      {},
      3,
      "False Shared",
    ],
    [
      "a claim whose slots nobody told",
      { claim: { templateName: "gpu", slotsPerNode: undefined } },
      {},
      1,
      "True SlotsNotSet",
    ],
  ];
  for (const [what, gpu, allocatable, slots, sharing] of cases) {
    it(`makes ${slots} slots and is "${sharing}" with ${what}`, () => {
      const node = offering(allocatable);
      expect(gpuSlotsOf(node, { ...none, ...gpu })).to.equal(slots);
      const { status, reason, message } = gpuSharingOf(node, { ...none, ...gpu });
      expect(`${status} ${reason}`).to.equal(sharing);
      if (status === "True") expect(message, "names the value to set").to.match(/gpu\.[a-z]/i);
    });
  }

  it("is no matter where games render in software", () => {
    expect(gpuSharingOf(offering({}), undefined)).to.include({
      status: "False",
      reason: "SoftwareRendering",
    });
  });
});

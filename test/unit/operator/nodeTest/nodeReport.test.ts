import { expect } from "chai";
import type { NodeFindings } from "#contracts/nodeTest.ts";
import { RenderingObstacle } from "#contracts/stream.ts";
import { hasPassed, nodeReport } from "#operator/nodeTest/testNode.ts";

const findings: NodeFindings = {
  renderer: "AMD Radeon 780M",
  openGl: { name: "4.6", frameMs: 0.42 },
  vulkan: { name: "", failure: "no device" },
  extensions: ["DRI3", "GLX"],
  encoders: [
    { codec: "h264", name: "vah264enc" },
    { codec: "vp8", name: "vp8enc" },
  ],
};

describe("nodeReport", () => {
  it("prints a sentence followed by the findings", () => {
    expect(nodeReport("node1", { findings })).to.equal(
      [
        "node1: sessions render with AMD Radeon 780M.",
        "  Renderer    AMD Radeon 780M",
        "  Encoders    vah264enc (h264), vp8enc (vp8)",
        "  OpenGL      4.6, 0.42 ms a frame",
        "  Vulkan      does not work: no device",
        "  Extensions  DRI3, GLX",
        "",
      ].join("\n"),
    );
    expect(hasPassed({ findings })).to.equal(true);
  });

  for (const obstacle of RenderingObstacle.options) {
    it(`fails if a GPU was promised and there is ${obstacle}`, () => {
      expect(hasPassed({ findings: { ...findings, obstacle } })).to.equal(false);
      expect(nodeReport("node1", { findings: { ...findings, obstacle } })).to.match(
        /^node1: sessions should use a GPU but render in software, because .{20}/,
      );
    });
  }

  it("fails if a promised GPU renders but does not encode", () => {
    const inSoftware: NodeFindings = {
      ...findings,
      encoders: [{ codec: "h264", name: "x264enc" }],
      encodesInSoftware: true,
    };
    expect(hasPassed({ findings: inSoftware })).to.equal(false);
    expect(nodeReport("node1", { findings: inSoftware })).to.match(
      /^node1: sessions render with AMD Radeon 780M and encode in software, because .*gpu\.driverCapabilities in docs\/gpu\.md, and enable_guc .*\n/,
    );
    expect(nodeReport("node1", { findings: { ...inSoftware, obstacle: "NoRenderNode" } })).to.contain(
      "render in software, because",
    );
  });

  it("fails if no encoder works or there are no findings", () => {
    expect(hasPassed({ findings: { ...findings, encoders: [] } })).to.equal(false);
    expect(nodeReport("node1", { findings: { ...findings, encoders: [] } }))
      .to.contain("no session can start here")
      .and.contain("Encoders    none");
    expect(hasPassed({ failure: "It has no room." })).to.equal(false);
    expect(nodeReport("node1", { failure: "It has no room." })).to.equal(
      "node1: could not be tested. It has no room.\n",
    );
  });
});

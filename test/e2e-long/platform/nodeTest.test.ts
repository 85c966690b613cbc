import { expect } from "chai";
import { nodeTestSelector } from "#operator/nodeTest/testNode.ts";
import { platform, sessionsNamespace } from "#test/e2e/support/platform.ts";
import { testRelease } from "#test/e2e/support/release.ts";

describe("helm test", () => {
  it("prints the renderer and encoder of each game node, and leaves no pod", async () => {
    const installed = await platform();
    const { isPassed, output } = await testRelease("joypod-node-test");
    expect(isPassed, output).to.equal(true);
    const { items } = await installed.gameNodes.list({});
    for (const {
      metadata: { name },
    } of items) {
      const [, found = ""] =
        new RegExp(`^${name}: sessions render with llvmpipe.*\\n((?: {2}.*\\n)+)`, "m").exec(output) ?? [];
      expect(found, output).to.match(/^ {2}Encoders {4}x264enc \(h264\), vp8enc \(vp8\)$/m);
      expect(found)
        .to.match(/^ {2}OpenGL {6}\d\.\d.*, [\d.]+ ms a frame$/m)
        .and.match(/^ {2}Extensions {2}.*\bGLX\b.*\bXTEST\b/m);
    }
    const left = await installed.pods.list({ namespace: sessionsNamespace, labelSelector: nodeTestSelector });
    expect(left.items.filter(({ metadata }) => metadata.deletionTimestamp === undefined)).to.deep.equal([]);
  });
});

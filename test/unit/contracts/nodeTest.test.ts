import { expect } from "chai";
import { parseNodeFindings, type NodeFindings } from "#contracts/nodeTest.ts";

describe("parseNodeFindings", () => {
  it("parses a termination message and returns undefined for other text", () => {
    const findings: NodeFindings = {
      renderer: "llvmpipe",
      openGl: { name: "4.5", frameMs: 2 },
      vulkan: { name: "" },
      extensions: [],
      encoders: [{ codec: "vp8", name: "vp8enc" }],
    };
    expect(parseNodeFindings(JSON.stringify(findings))).to.deep.equal(findings);
    for (const text of [
      "",
      "The display did not start.",
      "{}",
      JSON.stringify({ ...findings, encoders: [{ codec: "av2", name: "" }] }),
    ])
      expect(parseNodeFindings(text), text).to.equal(undefined);
  });
});

import { expect } from "chai";
import { parseFindings } from "#streamer/display/displayProbe.ts";
import { isProbed, isSoftware } from "#streamer/display/startDisplay.ts";

describe("the display probe", () => {
  it("returns findings by name and ignores other output of a driver", () => {
    const text =
      "renderer AMD Radeon 780M (radeonsi, phoenix)\nglCapture right\n\nMESA-LOADER:\nglFrameMs 16.67\n";
    expect(Object.fromEntries(parseFindings(text))).to.deep.equal({
      renderer: "AMD Radeon 780M (radeonsi, phoenix)",
      glCapture: "right",
      glFrameMs: "16.67",
    });
  });

  it("runs only for GPU sessions and for a forced accelerated display", () => {
    expect(isProbed({ choice: "auto", profile: "software" })).to.equal(false);
    expect(isProbed({ choice: "xvfb", profile: "software" })).to.equal(false);
    expect(isProbed({ choice: "xwayland", profile: "software" })).to.equal(true);
    expect(isProbed({ choice: "auto", profile: "gpu" })).to.equal(true);
  });

  const renderers: [string, boolean][] = [
    ["llvmpipe (LLVM 19.1.7, 256 bits)", true],
    ["softpipe", true],
    ["zink Vulkan 1.4(llvmpipe (LLVM 19.1.7, 256 bits) (MESA_LLVMPIPE))", true],
    ["virgl (AMD Radeon Graphics)", false],
    ["zink Vulkan 1.4(NVIDIA L4 (NVIDIA_PROPRIETARY))", false],
    ["Mesa Intel(R) Arc(tm) A770", false],
  ];
  for (const [renderer, isOfMesa] of renderers) {
    it(`takes ${renderer} for ${isOfMesa ? "software" : "a GPU"}`, () => {
      expect(isSoftware(renderer)).to.equal(isOfMesa);
    });
  }
});

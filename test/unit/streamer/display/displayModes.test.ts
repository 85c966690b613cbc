import { expect } from "chai";
import { listModes } from "#streamer/display/displayModes.ts";

describe("listModes", () => {
  it("returns the display's own size first, and no larger ones", () => {
    const sizes = listModes(1_280, 720, 60).map(({ width, height }) => `${width}x${height}`);
    expect(sizes[0]).to.equal("1280x720");
    expect(new Set(sizes).size).to.equal(sizes.length);
    expect(sizes).to.include.members(["640x480", "800x600"]).and.not.include.members(["1024x768"]);
    expect(listModes(1_600, 900, 60).map(({ width }) => width)).to.include.members([1_600, 1_280, 1_024]);
  });

  it("gives every mode the refresh rate and a name that says it", () => {
    for (const mode of listModes(1_920, 1_080, 120)) {
      expect(mode.dot_clock / (mode.h_total * mode.v_total)).to.equal(120);
      expect(mode.name).to.equal(`${mode.width}x${mode.height}_120`);
    }
  });
});

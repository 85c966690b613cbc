import { expect } from "chai";
import { offeredKbps, viewerByOffer, type ViewerByOffer } from "#test/support/session/offeredViewer.ts";

describe("the viewer of a session whose quality is narrow", function () {
  this.timeout(30_000);
  let viewer: ViewerByOffer;

  before(async () => {
    viewer = await viewerByOffer();
  });

  it("begins at the most that the quality allows, and begins a wider one as a new connection would", () => {
    expect(viewer).to.include({ kbps: offeredKbps.narrow, widenedKbps: offeredKbps.start });
  });

  it("leaves no timer when the session ends that would start another media child", () => {
    expect(viewer.timersAfterEnd).to.equal(0);
  });
});

import { expect } from "chai";
import { viewerByOffer, type ViewerByOffer } from "#test/support/session/offeredViewer.ts";

describe("the viewer of a session whose quality is narrow", function () {
  this.timeout(30_000);
  let viewer: ViewerByOffer;

  before(async () => {
    viewer = await viewerByOffer();
  });

  it("leaves no timer when the session ends that would start another media child", () => {
    expect(viewer.timersAfterEnd).to.equal(0);
  });
});

import { expect } from "chai";
import { offeredKbps, viewerByOffer, type ViewerByOffer } from "#test/support/session/offeredViewer.ts";

describe("the viewer of a session with a low maximum bitrate", function () {
  this.timeout(30_000);
  let viewer: ViewerByOffer;

  before(async () => {
    viewer = await viewerByOffer();
  });

  it("starts at the maximum and tries a higher one like a new connection", () => {
    expect(viewer).to.include({ kbps: offeredKbps.narrow, widenedKbps: offeredKbps.start });
  });

  it("leaves no timer at the session's end that would start another media process", () => {
    expect(viewer.timersAfterEnd).to.equal(0);
  });
});

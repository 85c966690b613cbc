import { expect } from "chai";
import { sentReports, type SentReports } from "#test/support/session/sentReports.ts";

describe("the sender reports that a page gets", function () {
  this.timeout(30_000);
  let reports: SentReports;

  before(async () => {
    reports = await sentReports();
  });

  it("tell the media's time of their own time, also when the packet that they leave with is sent again", () => {
    const [first, second] = reports.picture;
    const passedMs = second!.atMs - first!.atMs;
    expect(passedMs).to.be.above(950);
    expect(second!.mediaMs - first!.mediaMs).to.be.closeTo(passedMs, 100);
  });

  it("name picture and sound as of one source, and their times as of one clock", () => {
    const [picture] = reports.picture;
    expect([picture!.name, reports.sound.name]).to.deep.equal(["game", "game"]);
    expect(reports.sound.atMs).to.be.closeTo(picture!.atMs, 100);
  });
});

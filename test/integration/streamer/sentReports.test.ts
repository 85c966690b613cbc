import { expect } from "chai";
import { sentReports, type SentReports } from "#test/support/session/sentReports.ts";

describe("the sender reports that a page receives", function () {
  this.timeout(30_000);
  let reports: SentReports;

  before(async () => {
    reports = await sentReports();
  });

  it("map their time to the media's, even if the next packet is a retransmission", () => {
    const [first, second] = reports.picture;
    expect(second!.atMs - first!.atMs).to.be.closeTo(1_000, 1);
    expect(second!.mediaMs - first!.mediaMs).to.be.closeTo(1_000, 1);
  });

  it("give picture and sound the same source name and clock", () => {
    const [picture] = reports.picture;
    expect([picture!.name, reports.sound.name]).to.deep.equal(["game", "game"]);
    expect(reports.sound.atMs).to.be.closeTo(picture!.atMs, 1);
  });
});

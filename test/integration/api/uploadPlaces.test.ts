import { expect } from "chai";
import { gameUploadsMax, gameUploadsOfPartnerMax } from "#api/games/upload/gameUploads.ts";
import { eventually } from "#test/support/clocks/eventually.ts";
import { anArchive } from "#test/support/fixtures/archives.ts";
import { UploadFixture, type HandSentUpload } from "#test/support/fixtures/uploadFixture.ts";
import { expectErrorResponse, type ApiResponse } from "#test/support/http/apiClient.ts";
import { exchange, requestHead } from "#test/support/http/rawHttp.ts";

describe("uploads beyond those that a process receives at once", function () {
  this.timeout(60_000);
  let fixture: UploadFixture;
  let archive: Buffer;
  let slow: HandSentUpload[];

  before(async () => {
    fixture = await UploadFixture.start({ PARTNER_UPLOADS_PER_HOUR: "10" });
    archive = await anArchive();
  });
  beforeEach(() => {
    slow = [];
  });
  afterEach(async () => {
    for (const each of slow) await finish(each);
  });
  after(() => fixture.stop());

  /** Begins as many uploads of a new partner, each of a game of its own, and registers one more game. */
  async function beginOfOnePartner(count: number): Promise<void> {
    await fixture.newGame();
    for (let begun = 0; begun < count; begun += 1) {
      slow.push(await fixture.beginUpload(archive));
      await fixture.anotherGame();
    }
  }

  /** Sends the rest of an upload, whose place is free when its response has come. */
  async function finish({ request, response }: HandSentUpload): Promise<void> {
    request.end(archive.subarray(100));
    expect(await response).to.equal(200);
  }

  async function expectNotRequested(): Promise<void> {
    const head = requestHead(`PUT ${fixture.path}`, {
      "Host": "x", "Authorization": `Bearer ${fixture.partner.key}`, "Content-Type": "application/gzip", "Content-Length": String(archive.length), "Expect": "100-continue",
    });
    expect(await exchange(fixture.api.url, head)).to.not.contain("100 Continue");
  }

  function expectLeft(response: ApiResponse, left: number): void {
    expect(Number(response.headers.get("retry-after"))).to.be.within(1, 60);
    expect(response.headers.get("ratelimit"), "what the response says is left").to.contain(`"upload";r=${left};`);
  }

  it("are 409 for a partner who has two under way, use up nothing of the hour, and are taken once one of these has ended", async () => {
    await beginOfOnePartner(gameUploadsOfPartnerMax);
    for (let count = 0; count < 3; count += 1) {
      const response = await fixture.upload(archive);
      expectErrorResponse(response, 409, "upload_in_progress");
      expectLeft(response, 10 - gameUploadsOfPartnerMax);
    }
    await expectNotRequested();
    await finish(slow.pop()!);
    await fixture.uploaded(archive);
  });

  it("are 503 for all other partners, use up nothing of the hour, and are taken once one has ended", async () => {
    await beginOfOnePartner(gameUploadsOfPartnerMax);
    await beginOfOnePartner(gameUploadsMax - gameUploadsOfPartnerMax);
    await fixture.newGame();
    for (let count = 0; count < 3; count += 1) {
      const response = await fixture.upload(archive);
      expectErrorResponse(response, 503, "unavailable");
      expectLeft(response, 10);
    }
    await expectNotRequested();
    await finish(slow.pop()!);
    await fixture.uploaded(archive);
  });

  it("are taken when those before them were refused or cut", async () => {
    await beginOfOnePartner(gameUploadsOfPartnerMax);
    const [cut, damaged] = [slow.pop()!, slow.pop()!];
    damaged.request.end(Buffer.alloc(archive.length - 100));
    expect(await damaged.response).to.equal(422);
    slow.push(await fixture.beginUpload(archive));
    await fixture.anotherGame();
    expectErrorResponse(await fixture.upload(archive), 409, "upload_in_progress");
    cut.request.destroy();
    await eventually(async () => (await fixture.upload(archive)).status === 200, { what: "the place of the cut upload" });
  });
});

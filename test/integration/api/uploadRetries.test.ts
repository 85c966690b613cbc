import { expect } from "chai";
import { limits } from "#contracts/limits.ts";
import { expectErrorResponse } from "#test/support/http/apiClient.ts";
import { anArchive } from "#test/support/fixtures/archives.ts";
import { UploadFixture } from "#test/support/fixtures/uploadFixture.ts";

describe("upload retries while another upload of the game is in progress", function () {
  this.timeout(180_000);
  let fixture: UploadFixture;

  before(async () => {
    fixture = await UploadFixture.start({ PARTNER_UPLOADS_PER_HOUR: "2" });
  });
  beforeEach(() => fixture.newGame());
  after(() => fixture.stop());

  it("do not count against the hourly limit", async () => {
    const archive = await anArchive();
    const slow = await fixture.beginUpload(archive);
    for (let count = 0; count < 3; count++) {
      const response = await fixture.upload(archive);
      expectErrorResponse(response, 409, "upload_in_progress");
      expect(response.headers.get("ratelimit"), "what the response says is left").to.contain('"upload";r=1');
    }
    slow.request.end(archive.subarray(100));
    expect(await slow.response).to.equal(200);
    await fixture.uploaded(await anArchive());
  });

  it("count against it only after several refused archives", async () => {
    const refuse = async (left: number): Promise<void> => {
      const response = await fixture.upload(Buffer.from("no archive"));
      expectErrorResponse(response, 422, "invalid_archive");
      expect(response.headers.get("ratelimit")).to.contain(`"upload";r=${left}`);
    };
    for (let count = 0; count < 2 * limits.partner.refusedUploadsFactor; count++) await refuse(2);
    await refuse(1);
    await refuse(0);
    expectErrorResponse(await fixture.upload(await anArchive()), 429, "rate_limited");
  });
});

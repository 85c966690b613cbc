import { expect } from "chai";
import { anArchive } from "../../support/fixtures/archives.ts";
import { UploadFixture } from "../../support/fixtures/uploadFixture.ts";

describe("an upload to a game that is deleted meanwhile", function () {
  this.timeout(60_000);
  let uploads: UploadFixture;

  before(async () => {
    uploads = await UploadFixture.start({}, { hasFaults: true });
  });
  beforeEach(() => uploads.newGame());
  after(() => uploads.stop());

  it("is not found, also when it brings the archive that the game has", async () => {
    const archive = await anArchive();
    await uploads.uploaded(archive);
    const { request, response } = await uploads.beginUpload(archive);
    expect((await uploads.client.delete(`/api/partners/games/${uploads.game.slug}`)).status).to.equal(204);
    request.end(archive.subarray(100));
    expect(await response).to.equal(404);
  });
});

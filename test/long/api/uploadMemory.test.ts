import { expect } from "chai";
import { aGame } from "#test/factories/catalog.ts";
import { ApiProcess } from "#test/support/http/apiProcess.ts";
import { archivedGame } from "#test/support/fixtures/archives.ts";
import { PackedGame } from "#test/support/fixtures/packedGame.ts";
import { sendPackedGame } from "#test/support/fixtures/sendPackedGame.ts";
import { UploadFixture } from "#test/support/fixtures/uploadFixture.ts";

describe("the API during uploads", function () {
  this.timeout(180_000);
  let fixture: UploadFixture;

  before(async () => {
    fixture = await UploadFixture.start({ UPLOAD_MAX_BYTES: String(400 * 2 ** 20) });
  });
  beforeEach(() => fixture.newGame());
  after(() => fixture.stop());

  it("needs less than 300 MB of memory for four concurrent uploads of 96 MiB", async () => {
    const packedGame = new PackedGame();
    // What the image runs, which `make integration` builds: the sources take more.
    const served = await ApiProcess.beside(fixture.api, {}, "api/dist/programs/api.js");
    try {
      const url = async (): Promise<string> => {
        const { slug } = await aGame(fixture.api.deps, {
          partnerId: fixture.partner.id,
          status: "pending_upload",
          ...archivedGame,
        });
        return `${served.url}/api/partners/games/${slug}/upload`;
      };
      const headers = { "content-type": "application/gzip", authorization: `Bearer ${fixture.partner.key}` };
      // What is compiled and opened once is not an upload's memory.
      await sendPackedGame(await url(), packedGame, 2 ** 24, headers);
      const urls = await Promise.all(Array.from({ length: 4 }, url));
      served.resetPeak();
      await Promise.all(urls.map((each) => sendPackedGame(each, packedGame, 96 * 2 ** 20, headers)));
      expect(served.peakBytes / 2 ** 20).to.be.below(300);
    } finally {
      await served.stop();
    }
  });
});

import { expect } from "chai";
import { randomBytes } from "node:crypto";
import { request } from "node:http";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { setTimeout as delay } from "node:timers/promises";
import { aGame, aPartner, type TestPartner } from "../factories/catalog.ts";
import { TestApi } from "../support/http/api.ts";
import { ApiProcess } from "../support/http/apiProcess.ts";
import { anArchive, archivedGame } from "../support/fixtures/archives.ts";
import { responseTo } from "../support/http/httpResponse.ts";
import { PackedGame } from "../support/fixtures/packedGame.ts";
import { sendPackedGame } from "../support/fixtures/sendPackedGame.ts";

/** What the image runs; `make soak` builds it. */
const program = "api/dist/programs/api.js";
const gzip = { "content-type": "application/gzip" };

/** With the limits that an installation has by default. */
describe("uploads as long and as large as partners'", function () {
  this.timeout(900_000);
  let api: TestApi;
  let partner: TestPartner;
  let served: ApiProcess;

  before(async () => {
    api = await TestApi.start({ kube: true, isLed: true, minio: true });
    partner = await aPartner(api.deps);
  });
  beforeEach(async () => {
    served = await ApiProcess.beside(api, {}, program);
  });
  afterEach(() => served.stop());
  after(() => api.stop());

  async function uploadUrl(): Promise<string> {
    const { slug } = await aGame(api.deps, {
      partnerId: partner.id,
      status: "pending_upload",
      ...archivedGame,
    });
    return `${served.url}/api/partners/games/${slug}/upload`;
  }

  it("need less than 300 MB of memory for four of 2 GiB at once", async () => {
    const packedGame = new PackedGame();
    const headers = { ...gzip, authorization: `Bearer ${partner.key}` };
    // What is compiled and opened once is not an upload's memory.
    await sendPackedGame(await uploadUrl(), packedGame, 2 ** 24, headers);
    const urls = await Promise.all(Array.from({ length: 4 }, uploadUrl));
    served.resetPeak();
    await Promise.all(urls.map((url) => sendPackedGame(url, packedGame, 2 * 2 ** 30, headers)));
    expect(served.peakBytes / 2 ** 20).to.be.below(300);
  });

  it("succeed when they take ten minutes, at hardly more than the minimal rate", async () => {
    const [bytesPerSecond, seconds] = [17 * 1024, 605];
    const noise = randomBytes(bytesPerSecond * seconds);
    const archive = await anArchive({
      header: { name: "engine/noise.bin", size: noise.length },
      body: noise,
    });
    async function* slowly(): AsyncGenerator<Buffer, void, void> {
      for (let sent = 0; sent < archive.length; sent += bytesPerSecond) {
        yield archive.subarray(sent, sent + bytesPerSecond);
        await delay(1_000);
      }
    }
    const sending = request(await uploadUrl(), {
      method: "PUT",
      headers: { ...gzip, authorization: `Bearer ${partner.key}`, "content-length": String(archive.length) },
    });
    const response = responseTo(sending);
    response.catch(() => undefined);
    await pipeline(Readable.from(slowly(), { objectMode: false }), sending);
    const { status, text } = await response;
    expect(status, text).to.equal(200);
  });
});

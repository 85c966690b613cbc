import { expect } from "chai";
import { gameUploadsOfPartnerMax, waitingUploadsOfPartnerMax } from "#api/games/upload/gameUploads.ts";
import { anArchive } from "#test/support/fixtures/archives.ts";
import { UploadFixture, type HandSentUpload } from "#test/support/fixtures/uploadFixture.ts";
import { expectErrorResponse, type ApiResponse } from "#test/support/http/apiClient.ts";

const hourly = 50;

describe("uploads beyond the concurrency limit of a process", function () {
  this.timeout(60_000);
  let fixture: UploadFixture;
  let archive: Buffer;
  let slow: HandSentUpload[];

  before(async () => {
    fixture = await UploadFixture.start({ PARTNER_UPLOADS_PER_HOUR: String(hourly) });
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

  it("wait if the partner has four in progress; one too many is 409 immediately, and does not count against the hourly limit", async () => {
    await beginOfOnePartner(gameUploadsOfPartnerMax);
    const responses: Promise<ApiResponse>[] = [];
    for (let count = 0; count <= waitingUploadsOfPartnerMax; count += 1) {
      responses.push(fixture.upload(archive));
      await fixture.anotherGame();
    }
    const refused = await Promise.race(responses);
    expectErrorResponse(refused, 409, "upload_in_progress");
    expect(Number(refused.headers.get("retry-after"))).to.be.within(1, 60);
    await finish(slow.pop()!);
    const statuses = (await Promise.all(responses)).map(({ status }) => status);
    expect(statuses.filter((status) => status === 200)).to.have.length(waitingUploadsOfPartnerMax);
    const last = await fixture.upload(archive);
    const counted = gameUploadsOfPartnerMax + waitingUploadsOfPartnerMax + 1;
    expect(last.headers.get("ratelimit"), "what the response says is left").to.contain(
      `"upload";r=${hourly - counted};`,
    );
  });

  it("do not block those of other partners", async () => {
    await beginOfOnePartner(gameUploadsOfPartnerMax);
    const waiting = fixture.upload(archive);
    await fixture.newGame();
    await fixture.uploaded(archive);
    await finish(slow.pop()!);
    expect((await waiting).status).to.equal(200);
  });

  it("start when earlier ones were refused or interrupted", async () => {
    await beginOfOnePartner(gameUploadsOfPartnerMax);
    const [cut, damaged] = [slow.pop()!, slow.pop()!];
    const waiting = fixture.upload(archive);
    await fixture.anotherGame();
    damaged.request.end(Buffer.alloc(archive.length - 100));
    expect(await damaged.response).to.equal(422);
    expect((await waiting).status).to.equal(200);
    cut.request.destroy();
    await fixture.uploaded(archive);
  });
});

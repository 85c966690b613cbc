import { expect } from "chai";
import { randomBytes } from "node:crypto";
import { anArchive, sha256Of } from "#test/support/fixtures/archives.ts";
import { UploadFixture } from "#test/support/fixtures/uploadFixture.ts";
import { sharedMinio, type TestMinio } from "#test/support/stores/minio.ts";
import { TcpRelay } from "#test/support/stores/tcpRelay.ts";

const mebibyte = 2 ** 20;

describe("parts of an upload", function () {
  this.timeout(120_000);
  let store: TestMinio;
  let relay: TcpRelay;
  let fixture: UploadFixture;
  let archive: Buffer;

  before(async () => {
    store = await sharedMinio();
    relay = await TcpRelay.start(store.endpoint);
    fixture = await UploadFixture.start({ S3_ENDPOINT: `http://${relay.host}` }, { hasFaults: true });
    const noise = randomBytes(22 * mebibyte);
    archive = await anArchive({ header: { name: "engine/noise.bin", size: noise.length }, body: noise });
  });
  beforeEach(() => fixture.newGame());
  after(async () => {
    await fixture.stop();
    await relay.stop();
    await store.remove();
  });

  async function expectStored(): Promise<void> {
    const [key = ""] = await fixture.objectKeys();
    const stored = await fixture.minio.client.getObject(fixture.minio.bucket, key);
    expect(sha256Of(Buffer.concat(await stored.toArray()))).to.equal(sha256Of(archive));
    expect(await fixture.unfinishedUploads()).to.be.empty;
  }

  for (const mebibytes of [2, 8, 21]) {
    it(`are sent again when their connection is reset after ${mebibytes} MiB`, async () => {
      const before = relay.resets;
      relay.resetAfter(mebibytes * mebibyte);
      await fixture.uploaded(archive);
      expect(relay.resets, "reset connections").to.equal(before + 1);
      await expectStored();
    });
  }
});

import { expect } from "chai";
import { createObjectStore, type ObjectStore } from "#node-agent/objectStore/objectStore.ts";
import { readObject } from "#node-agent/objectStore/readObject.ts";
import { systemClock } from "#runtime/clock.ts";
import { sharedMinio, type TestMinio } from "#test/support/stores/minio.ts";

describe("ObjectStore", function () {
  this.timeout(60_000);
  let minio: TestMinio;
  let objectStore: ObjectStore;

  before(async () => {
    minio = await sharedMinio();
    objectStore = createObjectStore(minio);
  });

  after(async () => {
    objectStore.close();
    await minio.remove();
  });

  async function read(key: string, bytes: Buffer): Promise<Buffer> {
    await minio.client.putObject(minio.bucket, key, bytes, bytes.length);
    const chunks: Buffer[] = [];
    const options = { objectStore, location: { bucket: minio.bucket, key }, clock: systemClock, random: Math.random, signal: new AbortController().signal };
    for await (const chunk of readObject(options)) chunks.push(Buffer.from(chunk));
    return Buffer.concat(chunks);
  }

  it("reads objects whole, one without a byte too", async () => {
    expect((await read("some", Buffer.from("some bytes"))).toString()).to.equal("some bytes");
    expect(await read("none", Buffer.alloc(0))).to.have.length(0);
  });
});

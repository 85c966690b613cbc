import { createHash } from "node:crypto";
import { Readable } from "node:stream";
import { expect } from "chai";
import {
  createObjectStore,
  type ObjectStore,
  ObjectStoreError,
} from "#node-agent/objectStore/objectStore.ts";
import { readObject } from "#node-agent/objectStore/readObject.ts";
import { systemClock } from "#runtime/scheduling/clock.ts";
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
    const options = {
      objectStore,
      location: { bucket: minio.bucket, key },
      clock: systemClock,
      random: Math.random,
      signal: new AbortController().signal,
    };
    for await (const chunk of readObject(options)) chunks.push(Buffer.from(chunk));
    return Buffer.concat(chunks);
  }

  it("reads whole objects, including an empty one", async () => {
    expect((await read("some", Buffer.from("some bytes"))).toString()).to.equal("some bytes");
    expect(await read("none", Buffer.alloc(0))).to.have.length(0);
  });

  it("reports NotFound only for an object, and a missing bucket as unreachable", async () => {
    const never = new AbortController().signal;
    const failureOf = async (work: Promise<unknown>): Promise<unknown> =>
      work.then(
        () => undefined,
        (error: unknown) => error instanceof ObjectStoreError && error.failure,
      );
    const [object, bucket] = [
      { bucket: minio.bucket, key: "not-there" },
      { bucket: `${minio.bucket}-not-there`, key: "some" },
    ];
    expect(await failureOf(objectStore.open(object, { offset: 0 }, never))).to.equal("NotFound");
    expect(await failureOf(objectStore.stat(object, never))).to.equal("NotFound");
    expect(await failureOf(objectStore.open(bucket, { offset: 0 }, never))).to.equal("Unreachable");
    expect(
      await failureOf(
        objectStore.put(
          bucket,
          { sizeBytes: 0, md5: createHash("md5").digest("base64"), read: () => Readable.from([]) },
          never,
        ),
      ),
    ).to.equal("Unreachable");
    expect(await failureOf(objectStore.probe(bucket.bucket, never))).to.equal("Unreachable");
  });

  it("sends no bytes beyond an object's size, which would start the next request", async () => {
    const save = Buffer.from("a save");
    const md5 = createHash("md5").update(save).digest("base64");
    const put = (key: string, surplus: string): Promise<unknown> => {
      const upload = { sizeBytes: save.length, md5, read: () => Readable.from([save, Buffer.from(surplus)]) };
      return objectStore
        .put({ bucket: minio.bucket, key }, upload, new AbortController().signal)
        .catch((error: unknown) => error);
    };
    expect(await put("longer", "GET /minio/health/live HTTP/1.1\r\nX-Rest: ")).to.be.instanceOf(
      ObjectStoreError,
    );
    // The next request uses the same connection if it is still open.
    expect(await put("next", "")).to.equal(undefined);
    expect((await minio.client.statObject(minio.bucket, "next")).size).to.equal(save.length);
  });
});

import { execFileSync } from "node:child_process";
import { randomBytes } from "node:crypto";
import {
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { expect } from "chai";
import type { ArchiveSource } from "#contracts/crd/gameCache.ts";
import { contentDirectory, objectDirectory } from "#contracts/nodeLayout.ts";
import type { ContentCache } from "#node-agent/cache/contentCache.ts";
import { reserveBytes } from "#node-agent/cache/cacheRoom.ts";
import { neededBytes } from "#node-agent/cache/space.ts";
import { aGameTar, aTar, aTarGz, tarEntry, type TarEntrySpec } from "#test/factories/tarArchive.ts";
import { eventually } from "#test/support/clocks/eventually.ts";
import type { Fault } from "#test/support/cluster/faultProxy.ts";
import {
  beforeEachWithContentCaches,
  desired,
  isReady,
  type ContentCacheFixture,
} from "#test/support/fixtures/contentCacheFixture.ts";
import { storeArchive } from "#test/support/stores/storedArchive.ts";
import { temporaryFolder } from "#test/support/processes/temporaryFolder.ts";

describe("ContentCache", function () {
  this.timeout(60_000);
  let fixture: ContentCacheFixture;

  beforeEachWithContentCaches((fresh) => {
    fixture = fresh;
  });

  const aCache = (options?: Parameters<ContentCacheFixture["aCache"]>[0]): Promise<ContentCache> =>
    fixture.aCache(options);
  const aGame = (bytes?: number): Promise<ArchiveSource> => fixture.aGame(bytes);
  const getsOf = (source: ArchiveSource) => fixture.getsOf(source);
  const temporary = (): string[] => fixture.temporary();
  const failureOf = (cache: ContentCache, { sha256 }: ArchiveSource) =>
    eventually(
      () => {
        const content = cache.stateOf(sha256);
        return content?.state === "Failed" && content.failure;
      },
      { timeoutMs: 20_000, what: "the download to fail" },
    );

  it("publishes a game read-only, and a new process finds it again", async () => {
    const source = await aGame();
    const cache = await aCache();
    cache.demand("gs-1", source);
    await isReady(cache, source);
    const content = contentDirectory(fixture.root, source.sha256);
    expect(readFileSync(`${content}/run.sh`, "utf8")).to.equal("#!/bin/sh\n");
    expect(lstatSync(`${content}/run.sh`).mode & 0o777).to.equal(0o555);
    expect(lstatSync(`${content}/engine/data.bin`).mode & 0o777).to.equal(0o444);
    for (const directory of [content, `${content}/engine`])
      expect(lstatSync(directory).mode & 0o777).to.equal(0o555);
    expect(lstatSync(objectDirectory(fixture.root, source.sha256)).mode & 0o777).to.equal(0o755);
    expect(temporary()).to.deep.equal([]);

    const next = await aCache();
    expect(next.stateOf(source.sha256)).to.deep.equal({ state: "Ready" });
    const { entries, capacityBytes, freeBytes } = await next.report();
    expect(entries).to.have.length(1);
    expect(entries[0]).to.include({ digest: source.sha256, state: "Ready", bytes: 3_000_010 });
    expect(freeBytes, "with a block for each of two files and a folder").to.be.at.most(
      capacityBytes - 3_000_010 - 3 * 4096,
    );
  });

  it("unpacks archives of GNU tar", async () => {
    const folder = temporaryFolder("game");
    mkdirSync(`${folder}/engine/${"deep-".repeat(18)}`, { recursive: true });
    writeFileSync(`${folder}/run.sh`, "#!/bin/sh\n", { mode: 0o755 });
    writeFileSync(`${folder}/engine/${"deep-".repeat(18)}/ünïcode.txt`, "text");
    for (const format of ["gnu", "posix", "ustar"]) {
      const packed = execFileSync("tar", [`--format=${format}`, "-C", folder, "-cz", "."]);
      const source = await storeArchive(fixture.minio, packed);
      const cache = await aCache();
      cache.demand("gs-1", source);
      await isReady(cache, source);
      expect(
        readFileSync(
          `${contentDirectory(fixture.root, source.sha256)}/engine/${"deep-".repeat(18)}/ünïcode.txt`,
          "utf8",
        ),
      ).to.equal("text");
    }
    rmSync(folder, { recursive: true });
  });

  it("unpacks a game accepted by a release without header limits", async () => {
    const source = await storeArchive(
      fixture.minio,
      aTarGz([{ name: "pax", type: "x", body: "5 a=\n".repeat(129) }, ...aGameTar()]),
    );
    const cache = await aCache();
    cache.demand("gs-1", source);
    await isReady(cache, source);
  });

  it("unpacks a game that starts with a large file of zeros and has enough other data", async () => {
    const packed = aTarGz([
      { name: "zeros", body: Buffer.alloc(2 ** 27) },
      { name: "noise", body: randomBytes(2 ** 20) },
      ...aGameTar(),
    ]);
    const source = await storeArchive(fixture.minio, packed, { unpackedSizeBytes: 2 ** 28 });
    const cache = await aCache({ budgetBytes: 2 ** 40 });
    cache.demand("gs-1", source);
    await isReady(cache, source);
  });

  it("resumes an interrupted download, pinned to the same object", async () => {
    const source = await aGame();
    let cuts = 2;
    fixture.proxy.fault = ({ method }) =>
      method === "GET" && cuts-- > 0 ? { cutAfterBytes: 1_000_000 } : undefined;
    const cache = await aCache();
    cache.demand("gs-1", source);
    await isReady(cache, source);
    const offsets = getsOf(source).map(({ range }) => Number(/bytes=(\d+)-/.exec(range ?? "")?.[1]));
    expect(offsets).to.have.length(3);
    expect(offsets[0]).to.equal(0);
    expect(offsets[1]).to.be.within(1, 1_000_000);
    expect(offsets[2]).to.be.greaterThan(offsets[1]!);
    expect(fixture.resumed).to.equal(2);
  });

  it("refuses a corrupt download, removes it, and succeeds the next time", async () => {
    const source = await aGame();
    let corrupted = 1;
    fixture.proxy.fault = ({ method }) =>
      method === "GET" && corrupted-- > 0 ? { corruptByte: 1_500_000 } : undefined;
    const cache = await aCache();
    cache.demand("gs-1", source);
    expect(await failureOf(cache, source)).to.include({ reason: "ChecksumMismatch", isFinal: false });
    expect(existsSync(objectDirectory(fixture.root, source.sha256))).to.equal(false);
    expect(temporary()).to.deep.equal([]);
    await isReady(cache, source);
  });

  it("quarantines an object after three digest mismatches", async () => {
    const good = aTarGz(aGameTar("good"));
    const source = await storeArchive(fixture.minio, good);
    const bad = Buffer.from(good);
    bad[bad.length - 20] = bad[bad.length - 20]! ^ 1;
    await fixture.minio.client.putObject(fixture.minio.bucket, source.key, bad, bad.length);
    const cache = await aCache();
    cache.demand("gs-1", source);
    // There are back-offs of half a second and one second between the three attempts.
    await eventually(() => getsOf(source).length === 3, { timeoutMs: 15_000, what: "three tries" });
    expect((await failureOf(cache, source)).reason).to.equal("ChecksumMismatch");
    cache.demand("gs-2", source);
    cache.setDesired([desired(source)]);
    await eventually(() => cache.stateOf(source.sha256)?.state === "Failed", {
      what: "the end of the tries",
    });
    expect(getsOf(source)).to.have.length(3);
  });

  it("downloads once for any number of parallel requests", async () => {
    const source = await aGame();
    const cache = await aCache();
    for (let session = 0; session < 10; session += 1) cache.demand(`gs-${session}`, source);
    cache.setDesired([desired(source)]);
    await isReady(cache, source);
    expect(getsOf(source)).to.have.length(1);
  });

  it("downloads nothing when a policy goes back to a version that the node still holds", async () => {
    const [old, next] = [await aGame(1000), await aGame(1000)];
    const cache = await aCache();
    for (const source of [old, next]) {
      cache.setDesired([desired(source)]);
      await isReady(cache, source);
    }
    cache.setDesired([desired(old)]);
    expect(cache.stateOf(old.sha256)).to.deep.equal({ state: "Ready" });
    cache.demand("gs-1", old);
    await isReady(cache, old);
    expect(getsOf(old)).to.have.length(1);
  });

  it("serves a launch before a running fill, which pauses meanwhile and then resumes", async () => {
    const [fill, launch] = [await aGame(), await aGame()];
    const cache = await aCache();
    cache.setDesired([desired(fill, { bytesPerSecond: 1_500_000 })]);
    await eventually(() => cache.stateOf(fill.sha256)?.state === "Downloading", { what: "the fill to run" });
    cache.demand("gs-1", launch);
    await isReady(cache, launch);
    expect(cache.stateOf(fill.sha256)?.state).to.equal("Downloading");
    await isReady(cache, fill);
  });

  it("lifts a running fill's rate limit when a session needs the same game", async () => {
    const source = await aGame();
    const cache = await aCache();
    cache.setDesired([desired(source, { bytesPerSecond: 1024 })]);
    await eventually(() => cache.stateOf(source.sha256)?.state === "Downloading", {
      what: "the fill to run",
    });
    cache.demand("gs-1", source);
    await isReady(cache, source);
    expect(getsOf(source)).to.have.length(1);
  });

  it("lifts the limit of a running fill when the last session leaves the node", async () => {
    const source = await aGame();
    const cache = await aCache({ fillBytesPerSecond: 1024 });
    fixture.isPlayed = true;
    cache.setDesired([desired(source)]);
    await eventually(() => cache.stateOf(source.sha256)?.state === "Downloading", {
      what: "the fill to run",
    });
    fixture.isPlayed = false;
    await isReady(cache, source);
  });

  it("fills by priority, one at a time, and skips games on hold", async () => {
    const [low, high, held] = [await aGame(1000), await aGame(1000), await aGame(1000)];
    const cache = await aCache();
    cache.setDesired([
      desired(low, { priority: 1 }),
      desired(high, { priority: 5 }),
      desired(held, { priority: 9, hold: true }),
    ]);
    await isReady(cache, low);
    expect(
      fixture.proxy.requests.map(({ path }) => path).filter((path) => path.includes("archives")),
    ).to.deep.equal([high, low].map(({ key }) => `/${fixture.minio.bucket}/${key}`));
    expect(cache.stateOf(held.sha256)).to.equal(undefined);
  });

  it("evicts unused games for a launch, and reports when nothing can be evicted", async () => {
    const [first, second, third] = [await aGame(), await aGame(), await aGame()];
    const earlier = await aCache({ budgetBytes: 7_000_000 });
    for (const [index, source] of [first, second].entries()) {
      earlier.demand(`gs-${index}`, source);
      await isReady(earlier, source);
      await fixture.files.markUsed(source.sha256, new Date(Date.now() - 3_600_000 + index * 1000));
    }
    const cache = await aCache({ budgetBytes: 7_000_000 });
    fixture.inUse.add(first.sha256);
    cache.demand("gs-3", third);
    await isReady(cache, third);
    expect(cache.stateOf(first.sha256)?.state, "in use though used longest ago").to.equal("Ready");
    expect(existsSync(objectDirectory(fixture.root, second.sha256))).to.equal(false);

    fixture.inUse.add(third.sha256);
    cache.demand("gs-4", second);
    expect((await failureOf(cache, second)).reason).to.equal("InsufficientSpace");
    expect(cache.isShortOfSpace).to.equal(true);
    expect(
      existsSync(contentDirectory(fixture.root, first.sha256)) &&
        existsSync(contentDirectory(fixture.root, third.sha256)),
    ).to.equal(true);
  });

  it("keeps a game that a session requests while another one is being evicted", async () => {
    const [first, second, third] = [await aGame(), await aGame(), await aGame(5_000_000)];
    const earlier = await aCache({ budgetBytes: 7_000_000 });
    for (const [index, source] of [first, second].entries()) {
      earlier.demand(`gs-${index}`, source);
      await isReady(earlier, source);
      await fixture.files.markUsed(source.sha256, new Date(Date.now() - 3_600_000 + index * 1000));
    }
    const files = fixture.files;
    const cache = await aCache({
      budgetBytes: 7_000_000,
      files: {
        ...files,
        async remove(digest) {
          cache.demand("gs-3", second);
          return files.remove(digest);
        },
      },
    });
    cache.demand("gs-4", third);
    expect((await failureOf(cache, third)).reason).to.equal("InsufficientSpace");
    expect(cache.stateOf(first.sha256), "evicted").to.equal(undefined);
    expect(cache.stateOf(second.sha256)?.state, "asked for meanwhile").to.equal("Ready");
    expect(existsSync(contentDirectory(fixture.root, second.sha256))).to.equal(true);
  });

  it("counts the bytes written by a running download only once, so that a parallel launch evicts nothing", async () => {
    const [unused, running, launched] = [await aGame(8_000_000), await aGame(12_000_000), await aGame()];
    const earlier = await aCache();
    earlier.demand("gs-1", unused);
    await isReady(earlier, unused);
    await fixture.files.markUsed(unused.sha256, new Date(Date.now() - 3_600_000));

    const disk = { totalBytes: 2 ** 40, freeBytes: 2 ** 30, freeFiles: 2 ** 20 };
    const cache = await aCache({ readDiskSpace: () => Promise.resolve({ ...disk }) });
    const resumed = Promise.withResolvers<undefined>();
    const faults: Fault[] = [{ cutAfterBytes: 10_000_000 }, { holdUntil: resumed.promise }];
    fixture.proxy.fault = ({ path }) => (path.endsWith(running.key) ? faults.shift() : undefined);
    cache.demand("gs-2", running);
    const written = (): number =>
      statSync(join(fixture.root, `v1/tmp/${running.sha256}.1/content/engine/data.bin`), {
        throwIfNoEntry: false,
      })?.size ?? 0;
    await eventually(() => written() > 8_000_000, {
      timeoutMs: 20_000,
      what: "most of the game to be written",
    });
    disk.freeBytes =
      reserveBytes + neededBytes(launched.unpackedSizeBytes) + neededBytes(running.unpackedSizeBytes) / 2;
    cache.demand("gs-3", launched);
    await isReady(cache, launched);
    expect(cache.stateOf(unused.sha256)).to.deep.equal({ state: "Ready" });
    resumed.resolve(undefined);
    await isReady(cache, running);
  });

  it("removes unfinished and damaged entries at startup", async () => {
    const source = await aGame();
    const earlier = await aCache();
    earlier.demand("gs-1", source);
    await isReady(earlier, source);
    const digest = "b".repeat(64);
    mkdirSync(join(fixture.root, "v1/tmp", `${digest}.1/content`), { recursive: true });
    mkdirSync(`${objectDirectory(fixture.root, digest)}/content`, { recursive: true });
    writeFileSync(`${objectDirectory(fixture.root, digest)}/manifest.json`, '{"version":1,"dig');
    mkdirSync(join(fixture.root, "v1/objects/stray"));
    const cache = await aCache();
    expect(temporary()).to.deep.equal([]);
    expect(readdirSync(join(fixture.root, "v1/objects"))).to.deep.equal([source.sha256]);
    expect(cache.stateOf(source.sha256)).to.deep.equal({ state: "Ready" });
  });

  describe("with hostile archives", () => {
    async function refuses(packed: Buffer, message: RegExp): Promise<void> {
      const source = await storeArchive(fixture.minio, packed);
      const cache = await aCache();
      cache.demand("gs-1", source);
      const failure = await failureOf(cache, source);
      expect(failure).to.include({ reason: "ArchiveRefused", isFinal: true });
      expect(failure.message).to.match(message);
      expect((await cache.report()).entries[0]?.reason).to.match(message);
      expect(readdirSync(join(fixture.root, "v1/objects"))).to.deep.equal([]);
      expect(temporary()).to.deep.equal([]);
      expect(getsOf(source), "tries").to.have.length(1);
    }

    const byHand: [title: string, entries: TarEntrySpec[], message: RegExp][] = [
      [
        "a path upwards",
        [...aGameTar(), { name: "../../../../../evil", body: "x" }],
        /evil".* has \.\. in its path/,
      ],
      ["an absolute path", [{ name: "/tmp/joypod-evil", body: "x" }], /joypod-evil".* absolute/],
      ["a device", [{ name: "sda", type: "4" }], /"sda" is a block device/],
      ["a FIFO", [{ name: "pipe", type: "6" }], /"pipe" is a FIFO/],
      [
        "a duplicate",
        [
          { name: "a", body: "1" },
          { name: "A", body: "2" },
        ],
        /"A" differs only by case/,
      ],
      [
        "a file below a file",
        [
          { name: "a", body: "1" },
          { name: "a/b", body: "2" },
        ],
        /"a\/b" is below a file/,
      ],
      [
        "more than was declared",
        [{ name: "large", size: 2 ** 30 }],
        /"large" makes the archive unpack to more/,
      ],
    ];
    for (const [title, entries, message] of byHand)
      it(`refuses ${title}`, () => refuses(aTarGz(entries), message));

    it("refuses a symbolic link and a hard link of GNU tar, and writes through neither", async () => {
      const folder = mkdtempSync(join(tmpdir(), "joypod-hostile-"));
      const victim = join(folder, "victim");
      mkdirSync(victim);
      mkdirSync(join(folder, "tree"));
      symlinkSync(victim, join(folder, "tree/way-out"));
      const linked = execFileSync("tar", ["-C", join(folder, "tree"), "-c", "way-out"]).subarray(0, 512);
      await refuses(
        gzipSync(Buffer.concat([linked, aTar([{ name: "way-out/evil", body: "x" }])])),
        /"way-out" is a symbolic link/,
      );
      writeFileSync(join(folder, "tree/one"), "1");
      execFileSync("ln", [join(folder, "tree/one"), join(folder, "tree/two")]);
      await refuses(
        execFileSync("tar", ["-C", join(folder, "tree"), "-cz", "one", "two"]),
        /"two" is a hard link/,
      );
      expect(readdirSync(victim)).to.deep.equal([]);
      rmSync(folder, { recursive: true });
    });

    it("refuses a decompression bomb early", async () => {
      const zeros = Buffer.alloc(80 * 2 ** 20);
      const packed = gzipSync(Buffer.concat([tarEntry({ name: "zeros", size: 2 ** 33 - 1 }), zeros, zeros]));
      const source = await storeArchive(fixture.minio, packed, { unpackedSizeBytes: 2 ** 33 });
      const cache = await aCache({ budgetBytes: 2 ** 40 });
      cache.demand("gs-1", source);
      const failure = await failureOf(cache, source);
      expect(["ArchiveRefused", "InsufficientSpace"]).to.include(failure.reason);
      expect(failure.message).to.match(/more than 200 times its size/);
    });

    it("refuses truncated gzip, a second member and bytes after the end", async () => {
      const whole = aTarGz(aGameTar());
      await refuses(whole.subarray(0, whole.length - 10), /is cut off/);
      await refuses(Buffer.concat([whole, aTarGz([])]), /only one member/);
      await refuses(Buffer.concat([whole, Buffer.from("more")]), /only one member/);
      await refuses(Buffer.from("PK\u0003\u0004 not a gzip at all"), /is not gzip/);
    });
  });
});

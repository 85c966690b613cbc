import { execFileSync } from "node:child_process";
import { randomBytes } from "node:crypto";
import { existsSync, lstatSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { expect } from "chai";
import type { ArchiveSource } from "#contracts/crd/gameCache.ts";
import type { DesiredContent } from "#contracts/crd/gameNode.ts";
import { contentDirectory, objectDirectory } from "#contracts/nodeLayout.ts";
import { systemClock } from "#runtime/clock.ts";
import { silentLogger } from "#runtime/logger.ts";
import { ContentCache } from "#node-agent/cache/contentCache.ts";
import { createObjectFiles, type ObjectFiles } from "#node-agent/cache/objectFiles.ts";
import { readDiskSpace } from "#node-agent/cache/space.ts";
import { nodePaths } from "#node-agent/disk/nodePaths.ts";
import { createObjectStore, type ObjectStore } from "#node-agent/objectStore/objectStore.ts";
import { aGameTar, aTar, aTarGz, tarEntry, type TarEntrySpec } from "#test/factories/tarArchive.ts";
import { eventually } from "#test/support/clocks/eventually.ts";
import { startFaultProxy, type FaultProxy } from "#test/support/cluster/faultProxy.ts";
import { startMinio, type TestMinio } from "#test/support/stores/minio.ts";
import { storeArchive } from "#test/support/stores/storedArchive.ts";

describe("ContentCache", function () {
  this.timeout(60_000);
  let minio: TestMinio;
  let proxy: FaultProxy;
  let store: ObjectStore;
  let root: string;
  let inUse: Set<string>;
  let resumed: number;
  const caches: ContentCache[] = [];

  before(async () => {
    minio = await startMinio();
  });

  after(() => minio.remove());

  beforeEach(async () => {
    root = mkdtempSync(join(tmpdir(), "joypod-cache-"));
    inUse = new Set();
    resumed = 0;
    proxy = await startFaultProxy(minio.endpoint);
    store = createObjectStore({ ...minio, endpoint: proxy.endpoint });
  });

  afterEach(async () => {
    await Promise.all(caches.splice(0).map((cache) => cache.stop()));
    store.close();
    await proxy.close();
    rmSync(root, { recursive: true, force: true });
  });

  async function aCache({ budgetBytes = 2 ** 30, files = createObjectFiles(nodePaths(root)) }: { budgetBytes?: number; files?: ObjectFiles } = {}): Promise<ContentCache> {
    const cache = new ContentCache({
      files, objectStore: store, budgetBytes, readDiskSpace: () => readDiskSpace(root), inUse: () => inUse,
      clock: systemClock, random: () => 0, logger: silentLogger,
      metrics: { downloaded: () => undefined, resumed: () => void (resumed += 1), evicted: () => undefined },
    });
    caches.push(cache);
    await cache.load();
    return cache;
  }

  const aGame = (bytes = 3_000_000): Promise<ArchiveSource> => storeArchive(minio, aTarGz(aGameTar(randomBytes(bytes))), { unpackedSizeBytes: bytes + 1000 });
  const isReady = (cache: ContentCache, { sha256 }: ArchiveSource) => eventually(() => cache.stateOf(sha256)?.state === "Ready", { timeoutMs: 20_000, what: "the game to be ready" });
  const failureOf = (cache: ContentCache, { sha256 }: ArchiveSource) => eventually(() => {
    const content = cache.stateOf(sha256);
    return content?.state === "Failed" && content.failure;
  }, { timeoutMs: 20_000, what: "the download to fail" });
  const desired = (source: ArchiveSource, overrides: Partial<DesiredContent> = {}): DesiredContent =>
    ({ digest: source.sha256, source, priority: 0, pinned: false, hold: false, ...overrides });
  const getsOf = ({ key }: ArchiveSource) => proxy.requests.filter(({ method, path }) => method === "GET" && path.endsWith(key));
  const temporary = (): string[] => readdirSync(join(root, "v1/tmp"));

  it("publishes a game read-only, and a new process finds it again", async () => {
    const source = await aGame();
    const cache = await aCache();
    cache.demand("gs-1", source);
    await isReady(cache, source);
    const content = contentDirectory(root, source.sha256);
    expect(readFileSync(`${content}/run.sh`, "utf8")).to.equal("#!/bin/sh\n");
    expect(lstatSync(`${content}/run.sh`).mode & 0o777).to.equal(0o555);
    expect(lstatSync(`${content}/engine/data.bin`).mode & 0o777).to.equal(0o444);
    for (const directory of [content, `${content}/engine`]) expect(lstatSync(directory).mode & 0o777).to.equal(0o555);
    expect(lstatSync(objectDirectory(root, source.sha256)).mode & 0o777).to.equal(0o755);
    expect(temporary()).to.deep.equal([]);

    const next = await aCache();
    expect(next.stateOf(source.sha256)).to.deep.equal({ state: "Ready" });
    const { entries } = await next.report();
    expect(entries).to.have.length(1);
    expect(entries[0]).to.include({ digest: source.sha256, state: "Ready", bytes: 3_000_010 });
  });

  it("unpacks what GNU tar packs", async () => {
    const folder = mkdtempSync(join(tmpdir(), "joypod-game-"));
    mkdirSync(`${folder}/engine/${"deep-".repeat(18)}`, { recursive: true });
    writeFileSync(`${folder}/run.sh`, "#!/bin/sh\n", { mode: 0o755 });
    writeFileSync(`${folder}/engine/${"deep-".repeat(18)}/ünïcode.txt`, "text");
    for (const format of ["gnu", "posix", "ustar"]) {
      const packed = execFileSync("tar", [`--format=${format}`, "-C", folder, "-cz", "."]);
      const source = await storeArchive(minio, packed);
      const cache = await aCache();
      cache.demand("gs-1", source);
      await isReady(cache, source);
      expect(readFileSync(`${contentDirectory(root, source.sha256)}/engine/${"deep-".repeat(18)}/ünïcode.txt`, "utf8")).to.equal("text");
    }
    rmSync(folder, { recursive: true });
  });

  it("resumes a download that was cut, pinned to the same object", async () => {
    const source = await aGame();
    let cuts = 2;
    proxy.fault = ({ method }) => method === "GET" && cuts-- > 0 ? { cutAfterBytes: 1_000_000 } : undefined;
    const cache = await aCache();
    cache.demand("gs-1", source);
    await isReady(cache, source);
    const offsets = getsOf(source).map(({ range }) => Number(/bytes=(\d+)-/.exec(range ?? "")?.[1]));
    expect(offsets).to.have.length(3);
    expect(offsets[0]).to.equal(0);
    expect(offsets[1]).to.be.within(1, 1_000_000);
    expect(offsets[2]).to.be.greaterThan(offsets[1]!);
    expect(resumed).to.equal(2);
  });

  it("refuses a corrupt download, removes it, and succeeds the next time", async () => {
    const source = await aGame();
    let corrupted = 1;
    proxy.fault = ({ method }) => method === "GET" && corrupted-- > 0 ? { corruptByte: 1_500_000 } : undefined;
    const cache = await aCache();
    cache.demand("gs-1", source);
    expect(await failureOf(cache, source)).to.include({ reason: "ChecksumMismatch", isFinal: false });
    expect(existsSync(objectDirectory(root, source.sha256))).to.equal(false);
    expect(temporary()).to.deep.equal([]);
    await isReady(cache, source);
  });

  it("quarantines an object after three digest mismatches", async () => {
    const good = aTarGz(aGameTar("good"));
    const source = await storeArchive(minio, good);
    const bad = Buffer.from(good);
    bad[bad.length - 20] = bad[bad.length - 20]! ^ 1;
    await minio.client.putObject(minio.bucket, source.key, bad, bad.length);
    const cache = await aCache();
    cache.demand("gs-1", source);
    // Back-offs of half a second and one second lie between the three tries.
    await eventually(() => getsOf(source).length === 3, { timeoutMs: 15_000, what: "three tries" });
    expect((await failureOf(cache, source)).reason).to.equal("ChecksumMismatch");
    cache.demand("gs-2", source);
    cache.setDesired([desired(source)]);
    await eventually(() => cache.stateOf(source.sha256)?.state === "Failed", { what: "the end of the tries" });
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
    await eventually(() => cache.stateOf(source.sha256)?.state === "Downloading", { what: "the fill to run" });
    cache.demand("gs-1", source);
    await isReady(cache, source);
    expect(getsOf(source)).to.have.length(1);
  });

  describe("given launches that were cancelled", () => {
    const isSlow = (sources: readonly ArchiveSource[]) => {
      proxy.fault = ({ method, path }) => method === "GET" && sources.some(({ key }) => path.endsWith(key)) ? { bytesPerSecond: 20_000 } : undefined;
    };
    const isDownloading = (cache: ContentCache, { sha256 }: ArchiveSource) =>
      eventually(() => cache.stateOf(sha256)?.state === "Downloading", { what: "the download to run" });

    it("ends their downloads, so that the next launch has its place at once", async () => {
      const abandoned = await Promise.all([1, 2, 3, 4].map(() => aGame()));
      const launch = await aGame();
      isSlow(abandoned);
      const cache = await aCache();
      for (const [index, source] of abandoned.entries()) cache.demand(`gs-${index}`, source);
      for (const source of abandoned) await isDownloading(cache, source);
      for (const index of abandoned.keys()) cache.release(`gs-${index}`);
      cache.demand("gs-9", launch);
      await isReady(cache, launch);
      for (const { sha256 } of abandoned) expect(cache.stateOf(sha256)).to.equal(undefined);
      await eventually(() => temporary().length === 0, { what: "what they had fetched to be removed" });
      expect(cache.isShortOfSpace).to.equal(false);
    });

    it("starts anew when the game is wanted again", async () => {
      const source = await aGame();
      isSlow([source]);
      const cache = await aCache();
      cache.demand("gs-1", source);
      await isDownloading(cache, source);
      cache.release("gs-1");
      proxy.fault = undefined;
      cache.demand("gs-2", source);
      await isReady(cache, source);
      expect(getsOf(source).map(({ range }) => range ?? "bytes=0-"), "both from the start").to.deep.equal(["bytes=0-", "bytes=0-"]);
      await eventually(() => temporary().length === 0, { what: "what the first had fetched to be removed" });
    });

    it("goes on with a download that another session or a policy wants, as a fill without the launch's precedence", async () => {
      const [shared, filled] = [await aGame(), await aGame()];
      isSlow([shared, filled]);
      const cache = await aCache();
      cache.setDesired([desired(filled, { bytesPerSecond: 2 ** 30 })]);
      for (const [session, source] of [["gs-1", shared], ["gs-2", shared], ["gs-3", filled]] as const) cache.demand(session, source);
      await isDownloading(cache, shared);
      await isDownloading(cache, filled);
      cache.release("gs-1");
      cache.release("gs-3");
      const launch = await aGame();
      cache.demand("gs-4", launch);
      await isReady(cache, launch);
      for (const source of [shared, filled]) {
        expect(cache.stateOf(source.sha256)?.state).to.equal("Downloading");
        expect(getsOf(source)).to.have.length(1);
      }
      cache.release("gs-2");
      cache.setDesired([]);
      for (const { sha256 } of [shared, filled]) expect(cache.stateOf(sha256)).to.equal(undefined);
    });
  });

  it("fills by priority, one at a time, and skips games on hold", async () => {
    const [low, high, held] = [await aGame(1000), await aGame(1000), await aGame(1000)];
    const cache = await aCache();
    cache.setDesired([desired(low, { priority: 1 }), desired(high, { priority: 5 }), desired(held, { priority: 9, hold: true })]);
    await isReady(cache, low);
    expect(proxy.requests.map(({ path }) => path).filter((path) => path.includes("archives"))).to.deep.equal([high, low].map(({ key }) => `/${minio.bucket}/${key}`));
    expect(cache.stateOf(held.sha256)).to.equal(undefined);
  });

  it("evicts unused games for a launch, and reports when nothing can be evicted", async () => {
    const [first, second, third] = [await aGame(), await aGame(), await aGame()];
    const earlier = await aCache({ budgetBytes: 7_000_000 });
    for (const [index, source] of [first, second].entries()) {
      earlier.demand(`gs-${index}`, source);
      await isReady(earlier, source);
      await createObjectFiles(nodePaths(root)).markUsed(source.sha256, new Date(Date.now() - 3_600_000 + index * 1000));
    }
    const cache = await aCache({ budgetBytes: 7_000_000 });
    inUse.add(first.sha256);
    cache.demand("gs-3", third);
    await isReady(cache, third);
    expect(cache.stateOf(first.sha256)?.state, "in use though used longest ago").to.equal("Ready");
    expect(existsSync(objectDirectory(root, second.sha256))).to.equal(false);

    inUse.add(third.sha256);
    cache.demand("gs-4", second);
    expect((await failureOf(cache, second)).reason).to.equal("InsufficientSpace");
    expect(cache.isShortOfSpace).to.equal(true);
    expect(existsSync(contentDirectory(root, first.sha256)) && existsSync(contentDirectory(root, third.sha256))).to.equal(true);
  });

  it("keeps a game that a session asks for while another one is being evicted", async () => {
    const [first, second, third] = [await aGame(), await aGame(), await aGame(5_000_000)];
    const earlier = await aCache({ budgetBytes: 7_000_000 });
    for (const [index, source] of [first, second].entries()) {
      earlier.demand(`gs-${index}`, source);
      await isReady(earlier, source);
      await createObjectFiles(nodePaths(root)).markUsed(source.sha256, new Date(Date.now() - 3_600_000 + index * 1000));
    }
    const files = createObjectFiles(nodePaths(root));
    const cache = await aCache({
      budgetBytes: 7_000_000,
      files: {
        ...files,
        async remove(digest) {
          cache.demand("gs-3", second);
          await files.remove(digest);
        },
      },
    });
    cache.demand("gs-4", third);
    expect((await failureOf(cache, third)).reason).to.equal("InsufficientSpace");
    expect(cache.stateOf(first.sha256), "evicted").to.equal(undefined);
    expect(cache.stateOf(second.sha256)?.state, "asked for meanwhile").to.equal("Ready");
    expect(existsSync(contentDirectory(root, second.sha256))).to.equal(true);
  });

  it("removes unfinished and damaged entries at the start", async () => {
    const source = await aGame();
    const earlier = await aCache();
    earlier.demand("gs-1", source);
    await isReady(earlier, source);
    const digest = "b".repeat(64);
    mkdirSync(join(root, "v1/tmp", `${digest}.1/content`), { recursive: true });
    mkdirSync(`${objectDirectory(root, digest)}/content`, { recursive: true });
    writeFileSync(`${objectDirectory(root, digest)}/manifest.json`, '{"version":1,"dig');
    mkdirSync(join(root, "v1/objects/stray"));
    const cache = await aCache();
    expect(temporary()).to.deep.equal([]);
    expect(readdirSync(join(root, "v1/objects"))).to.deep.equal([source.sha256]);
    expect(cache.stateOf(source.sha256)).to.deep.equal({ state: "Ready" });
  });

  describe("given hostile archives", () => {
    async function refuses(packed: Buffer, message: RegExp): Promise<void> {
      const source = await storeArchive(minio, packed);
      const cache = await aCache();
      cache.demand("gs-1", source);
      const failure = await failureOf(cache, source);
      expect(failure).to.include({ reason: "ArchiveRefused", isFinal: true });
      expect(failure.message).to.match(message);
      expect((await cache.report()).entries[0]?.reason).to.match(message);
      expect(readdirSync(join(root, "v1/objects"))).to.deep.equal([]);
      expect(temporary()).to.deep.equal([]);
      expect(getsOf(source), "tries").to.have.length(1);
    }

    const byHand: [title: string, entries: TarEntrySpec[], message: RegExp][] = [
      ["a path upwards", [...aGameTar(), { name: "../../../../../evil", body: "x" }], /evil".* has \.\. in its path/],
      ["an absolute path", [{ name: "/tmp/joypod-evil", body: "x" }], /joypod-evil".* absolute/],
      ["a device", [{ name: "sda", type: "4" }], /"sda" is a block device/],
      ["a FIFO", [{ name: "pipe", type: "6" }], /"pipe" is a FIFO/],
      ["a duplicate", [{ name: "a", body: "1" }, { name: "A", body: "2" }], /"A" differs only by case/],
      ["a file below a file", [{ name: "a", body: "1" }, { name: "a/b", body: "2" }], /"a\/b" lies under a file/],
      ["more than was declared", [{ name: "large", size: 2 ** 30 }], /"large" makes the archive unpack to more/],
    ];
    for (const [title, entries, message] of byHand) it(`refuses ${title}`, () => refuses(aTarGz(entries), message));

    it("refuses a symbolic link and a hard link of GNU tar, and writes through neither", async () => {
      const folder = mkdtempSync(join(tmpdir(), "joypod-hostile-"));
      const victim = join(folder, "victim");
      mkdirSync(victim);
      mkdirSync(join(folder, "tree"));
      symlinkSync(victim, join(folder, "tree/way-out"));
      const linked = execFileSync("tar", ["-C", join(folder, "tree"), "-c", "way-out"]).subarray(0, 512);
      await refuses(gzipSync(Buffer.concat([linked, aTar([{ name: "way-out/evil", body: "x" }])])), /"way-out" is a symbolic link/);
      writeFileSync(join(folder, "tree/one"), "1");
      execFileSync("ln", [join(folder, "tree/one"), join(folder, "tree/two")]);
      await refuses(execFileSync("tar", ["-C", join(folder, "tree"), "-cz", "one", "two"]), /"two" is a hard link/);
      expect(readdirSync(victim)).to.deep.equal([]);
      rmSync(folder, { recursive: true });
    });

    it("refuses a decompression bomb early", async () => {
      const zeros = Buffer.alloc(80 * 2 ** 20);
      const packed = gzipSync(Buffer.concat([tarEntry({ name: "zeros", size: 2 ** 33 - 1 }), zeros, zeros]));
      const source = await storeArchive(minio, packed, { unpackedSizeBytes: 2 ** 33 });
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

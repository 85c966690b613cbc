import { randomBytes } from "node:crypto";
import { existsSync, readdirSync, statSync } from "node:fs";
import { expect } from "chai";
import type { ArchiveSource } from "#contracts/crd/gameCache.ts";
import { spoolNames } from "#contracts/nodeLayout.ts";
import type { ContentCache } from "#node-agent/cache/contentCache.ts";
import { eventually } from "#test/support/clocks/eventually.ts";
import {
  beforeEachWithContentCaches,
  desired,
  isReady,
  type ContentCacheFixture,
} from "#test/support/fixtures/contentCacheFixture.ts";
import { beforeEachWithNodeAgent, type NodeAgentFixture } from "#test/support/fixtures/nodeAgentFixture.ts";
import { sha256Of } from "#test/support/stores/storedArchive.ts";

describe("ContentCache after cancelled launches", function () {
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

  const isSlow = (sources: readonly ArchiveSource[]) => {
    fixture.proxy.fault = ({ method, path }) =>
      method === "GET" && sources.some(({ key }) => path.endsWith(key))
        ? { bytesPerSecond: 20_000 }
        : undefined;
  };
  const isDownloading = (cache: ContentCache, source: ArchiveSource) =>
    eventually(() => cache.stateOf(source.sha256)?.state === "Downloading" && getsOf(source).length > 0, {
      what: "the download to run",
    });

  it("ends their downloads, so that the next launch gets a slot at once", async () => {
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

  it("restarts the download when the game is wanted again", async () => {
    const source = await aGame();
    isSlow([source]);
    const cache = await aCache();
    cache.demand("gs-1", source);
    await isDownloading(cache, source);
    cache.release("gs-1");
    fixture.proxy.fault = undefined;
    cache.demand("gs-2", source);
    await isReady(cache, source);
    expect(
      getsOf(source).map(({ range }) => range ?? "bytes=0-"),
      "both from the start",
    ).to.deep.equal(["bytes=0-", "bytes=0-"]);
    await eventually(() => temporary().length === 0, { what: "what the first had fetched to be removed" });
  });

  it("does not start a download that was cancelled while room was made for it", async () => {
    const [first, second] = [await aGame(), await aGame(5_000_000)];
    const earlier = await aCache({ budgetBytes: 7_000_000 });
    earlier.demand("gs-0", first);
    await isReady(earlier, first);
    const files = fixture.files;
    await files.markUsed(first.sha256, new Date(Date.now() - 3_600_000));
    const removed = Promise.withResolvers<undefined>();
    const cache = await aCache({
      budgetBytes: 7_000_000,
      files: {
        ...files,
        async remove(digest) {
          cache.release("gs-1");
          const isGone = await files.remove(digest);
          removed.resolve(undefined);
          return isGone;
        },
      },
    });
    cache.demand("gs-1", second);
    await removed.promise;
    // Downloads start one after another, so the other one would have started when this one is done.
    const third = await aGame(1000);
    cache.demand("gs-2", third);
    await isReady(cache, third);
    expect(getsOf(second)).to.deep.equal([]);
    expect(cache.stateOf(second.sha256)).to.equal(undefined);
  });

  it("continues a download that another session or a policy wants, as a fill without the launch's priority", async () => {
    const [shared, filled] = [await aGame(), await aGame()];
    isSlow([shared, filled]);
    const cache = await aCache();
    cache.setDesired([desired(filled, { bytesPerSecond: 2 ** 30 })]);
    for (const [session, source] of [
      ["gs-1", shared],
      ["gs-2", shared],
      ["gs-3", filled],
    ] as const)
      cache.demand(session, source);
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

  it("continues and reports a download that a policy keeps on hold, but starts none", async () => {
    const source = await aGame();
    isSlow([source]);
    const cache = await aCache();
    cache.setDesired([desired(source, { hold: true })]);
    cache.demand("gs-1", source);
    await isDownloading(cache, source);
    cache.release("gs-1");
    expect((await cache.report()).entries.map(({ digest, state }) => [digest, state])).to.deep.equal([
      [source.sha256, "Downloading"],
    ]);
    expect(getsOf(source)).to.have.length(1);
    cache.setDesired([]);
    expect((await cache.report()).entries).to.deep.equal([]);
    cache.setDesired([desired(source, { hold: true })]);
    await eventually(() => temporary().length === 0, { what: "what was fetched to be removed" });
    expect((await cache.report()).entries, "on hold, and not begun").to.deep.equal([]);
    expect(getsOf(source)).to.have.length(1);
  });
});

describe("Node agent after a cancelled launch", function () {
  this.timeout(60_000);
  let fixture: NodeAgentFixture;

  beforeEachWithNodeAgent(async (fresh) => {
    fixture = fresh;
    await fixture.createGameNode();
  });

  it("ends the launch's download", async () => {
    await fixture.startAgent();
    const source = await fixture.createGame(3_000_000);
    fixture.proxy.fault = ({ method, path }) =>
      method === "GET" && path.endsWith(source.key) ? { bytesPerSecond: 20_000 } : undefined;
    const name = await fixture.launch(source);
    await fixture.condition(name, "ContentReady", "False", "Downloading");
    await eventually(() => readdirSync(`${fixture.root}/v1/tmp`).length === 1, { what: "the download" });
    await eventually(async () => (await fixture.gameNode()).status?.cache?.entries.length === 1, {
      timeoutMs: 20_000,
      what: "an entry for it",
    });
    await fixture.sessions.mergePatch(
      { name, namespace: fixture.namespace },
      { spec: { desiredState: "Stopped", stopReason: "UserRequested" } },
    );
    await eventually(() => readdirSync(`${fixture.root}/v1/tmp`).length === 0, {
      what: "the download to be gone",
    });
    await eventually(
      async () => {
        expect((await fixture.gameNode()).status?.cache?.entries).to.deep.equal([]);
        return true;
      },
      { what: "no entry for it" },
    );
  });

  /**
   * Starts a launch whose save arrives so slowly that it never completes in a test. Returns the session's
   * name and the path of the partial download.
   */
  async function aSlowRestore(): Promise<{ name: string; archive: string }> {
    await fixture.startAgent();
    const save = randomBytes(3_000_000);
    const objectKey = "saves/slow/1-gs-old-1.1.tar.gz";
    await fixture.minio.client.putObject(fixture.minio.bucket, objectKey, save, save.length);
    fixture.proxy.fault = ({ method, path }) =>
      method === "GET" && path.endsWith(objectKey) ? { bytesPerSecond: 20_000 } : undefined;
    const saveSlot = { slotId: "slow", number: 1, generation: 1, objectKey, sha256: sha256Of(save) };
    const name = await fixture.launch(await fixture.createGame(), { saveSlot });
    const archive = `${fixture.folder(name)}/${spoolNames.orderedArchive}`;
    await eventually(() => existsSync(archive) && statSync(archive).size > 0, {
      timeoutMs: 20_000,
      what: "the save to be on its way",
    });
    return { name, archive };
  }

  it("aborts fetching a stopped session's save, and leaves nothing behind", async () => {
    const { name, archive } = await aSlowRestore();
    await fixture.sessions.mergePatch(
      { name, namespace: fixture.namespace },
      { spec: { desiredState: "Stopped", stopReason: "UserRequested" } },
    );
    await eventually(() => !existsSync(archive), { what: "what was fetched to be removed" });
    expect(await fixture.condition(name, "SavePersisted", "True")).to.equal("NothingToSave");
    await fixture.finish(name);
    await eventually(() => !existsSync(fixture.folder(name)), { what: "the session's folder to be removed" });
  });

  it("aborts fetching the save of a moved session, and leaves nothing behind", async () => {
    const { name } = await aSlowRestore();
    await fixture.operate(name, { nodeName: "elsewhere" });
    await eventually(() => !existsSync(fixture.folder(name)), { what: "the session's folder to be removed" });
  });

  it("continues fetching the save of a session after unrelated changes", async () => {
    const { name, archive } = await aSlowRestore();
    await fixture.operate(name, { address: "192.0.2.1" });
    await eventually(() => statSync(archive).size > 40_000, { what: "more of the save" });
    expect(
      fixture.proxy.requests.filter(({ method, path }) => method === "GET" && path.includes("/saves/slow/")),
      "by the same request",
    ).to.have.length(1);
    // The agent would wait for it while stopping.
    await fixture.sessions.delete({ name, namespace: fixture.namespace });
  });
});

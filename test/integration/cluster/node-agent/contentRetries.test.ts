import { expect } from "chai";
import { ContentCache } from "#node-agent/cache/contentCache.ts";
import { readDiskSpace, type DiskSpace } from "#node-agent/cache/space.ts";
import { createObjectStore } from "#node-agent/objectStore/objectStore.ts";
import { silentLogger } from "#runtime/logger.ts";
import { aGameTar, aTarGz } from "#test/factories/tarArchive.ts";
import { eventually } from "#test/support/clocks/eventually.ts";
import { FakeClock } from "#test/support/clocks/fakeClock.ts";
import { JumpClock } from "#test/support/clocks/jumpClock.ts";
import type { Fault } from "#test/support/cluster/faultProxy.ts";
import { mountSmallDisk } from "#test/support/disks/smallDisk.ts";
import {
  beforeEachWithContentCaches,
  desired,
  isReady,
  type ContentCacheFixture,
} from "#test/support/fixtures/contentCacheFixture.ts";
import { storeArchive } from "#test/support/stores/storedArchive.ts";

describe("ContentCache after failed downloads", function () {
  this.timeout(60_000);
  let fixture: ContentCacheFixture;

  beforeEachWithContentCaches((fresh) => {
    fixture = fresh;
  });

  it("sets no timer during a retry, and a new one if the retry fails", async () => {
    const source = await fixture.aGame();
    const held = Promise.withResolvers<undefined>();
    const faults: Fault[] = [{ corruptByte: 1_500_000 }, { corruptByte: 1_500_000, holdUntil: held.promise }];
    fixture.proxy.fault = ({ method }) => (method === "GET" ? faults.shift() : undefined);
    const clock = new FakeClock();
    const objectStore = createObjectStore({ ...fixture.minio, endpoint: fixture.proxy.endpoint });
    const cache = new ContentCache({
      files: fixture.files,
      objectStore,
      budgetBytes: 2 ** 30,
      readDiskSpace: () => readDiskSpace(fixture.root),
      inUse: () => fixture.inUse,
      isPlayed: () => false,
      fillBytesPerSecond: 0,
      clock,
      random: () => 0,
      logger: silentLogger,
      metrics: {
        downloaded: () => undefined,
        reported: () => undefined,
        resumed: () => undefined,
        evicted: () => undefined,
      },
    });
    try {
      await cache.load();
      cache.demand("gs-1", source);
      await eventually(() => clock.pendingTimers === 1, {
        timeoutMs: 20_000,
        what: "the wait for the second try",
      });
      await clock.advance(1000);
      await eventually(() => fixture.getsOf(source).length === 2, { what: "the second try" });
      expect(clock.pendingTimers, "timers beside the second try").to.equal(0);
      held.resolve(undefined);
      await eventually(() => clock.pendingTimers === 1, {
        timeoutMs: 20_000,
        what: "the wait for the third try",
      });
      await clock.advance(2000);
      await isReady(cache, source);
      expect(fixture.getsOf(source)).to.have.length(3);
      expect(clock.pendingTimers, "timers when all is there").to.equal(0);
    } finally {
      held.resolve(undefined);
      await cache.stop();
      objectStore.close();
    }
  });

  it("remembers failures across turns: backs off, and quarantines at the third damaged copy", async () => {
    const source = await fixture.aGame();
    fixture.proxy.fault = ({ method }) => (method === "GET" ? { corruptByte: 1_500_000 } : undefined);
    const clock = new FakeClock();
    const cache = await fixture.aCache({ clock });
    /** Resolves when the cache has processed the change of turn: it makes room after that. */
    const setTurn = async (isOurs: boolean): Promise<void> => {
      cache.setDesired([desired(source, { hold: !isOurs })]);
      await cache.relieve();
    };
    const reported = async (): Promise<string[]> => (await cache.report()).entries.map(({ state }) => state);
    const hasFailed = (times: number): Promise<unknown> =>
      eventually(() => fixture.getsOf(source).length === times && clock.pendingTimers === 1, {
        timeoutMs: 20_000,
        what: `the wait after failure ${times}`,
      });

    await setTurn(true);
    await hasFailed(1);
    await setTurn(false);
    expect(await reported(), "while it waits, on hold").to.deep.equal(["Failed"]);
    await setTurn(true);
    expect(cache.stateOf(source.sha256)?.state, "before its wait is over").to.equal("Failed");

    await setTurn(false);
    await clock.advance(500);
    expect(await reported(), "when its wait is over, on hold").to.deep.equal([]);
    await setTurn(true);
    await hasFailed(2);
    await clock.advance(1000);
    await hasFailed(3);

    await setTurn(false);
    await clock.advance(60_000);
    await setTurn(false);
    expect(
      fixture.proxy.requests.filter(({ method }) => method === "HEAD"),
      "looks whether it was replaced",
    ).to.have.length(1);
    expect(await reported(), "given up, on hold").to.deep.equal(["Failed"]);
    await setTurn(true);
    expect(cache.stateOf(source.sha256)?.state, "given up").to.equal("Failed");
    expect(fixture.getsOf(source)).to.have.length(3);
  });

  it("fills the next game if a more important one has no room", async () => {
    const [large, small] = [await fixture.aGame(1000), await fixture.aGame(1000)];
    const cache = await fixture.aCache({ budgetBytes: 7_000_000 });
    cache.setDesired([
      desired({ ...large, unpackedSizeBytes: 2 ** 30 }, { priority: 5 }),
      desired(small, { priority: 1 }),
    ]);
    await isReady(cache, small);
    expect(cache.stateOf(large.sha256)?.state).to.equal("Failed");
    expect(fixture.getsOf(large)).to.be.empty;
  });

  it("lets a launch evict more than the failed fill of the same game, without reporting the fill's failure", async () => {
    const [held, wanted] = [await fixture.aGame(), await fixture.aGame()];
    const earlier = await fixture.aCache({ budgetBytes: 4_000_000 });
    earlier.demand("gs-1", held);
    await isReady(earlier, held);
    await fixture.files.markUsed(held.sha256, new Date(Date.now() - 3_600_000));
    const cache = await fixture.aCache({ budgetBytes: 4_000_000 });
    cache.setDesired([desired(held), desired(wanted)]);
    await eventually(() => cache.stateOf(wanted.sha256)?.state === "Failed", {
      what: "the fill to find no room",
    });
    cache.demand("gs-2", wanted);
    expect(cache.stateOf(wanted.sha256)?.state, "at once").to.equal("Queued");
    await isReady(cache, wanted);
  });

  it("fetches a version for a launch that requested it while room was made for its fill", async () => {
    const [held, wanted] = [await fixture.aGame(), await fixture.aGame()];
    const earlier = await fixture.aCache({ budgetBytes: 4_000_000 });
    earlier.demand("gs-1", held);
    await isReady(earlier, held);
    await fixture.files.markUsed(held.sha256, new Date(Date.now() - 3_600_000));
    let onLook = (): void => undefined;
    const cache = await fixture.aCache({
      budgetBytes: 4_000_000,
      readDiskSpace: () => {
        onLook();
        return readDiskSpace(fixture.root);
      },
    });
    onLook = () => cache.demand("gs-2", wanted);
    const states = new Set<string | undefined>();
    cache.subscribe((digest) =>
      states.add(digest === wanted.sha256 ? cache.stateOf(digest)?.state : undefined),
    );
    cache.setDesired([desired(held), desired(wanted)]);
    await isReady(cache, wanted);
    expect(states).not.to.include("Failed");
  });

  it("does not retry a download that ran out of inodes until more are free", async () => {
    const disk = await mountSmallDisk(fixture.root, { megabytes: 64, inodes: 256 });
    const clock = new JumpClock();
    try {
      const many = Array.from({ length: 150 }, (_, index) => ({ name: `engine/${index}`, body: "x" }));
      const source = await storeArchive(fixture.minio, aTarGz([...aGameTar(), ...many]), {
        unpackedSizeBytes: 200 * 4096,
      });
      // A large disk with few inodes.
      const readSpace = async (): Promise<DiskSpace> => ({
        ...(await readDiskSpace(fixture.root)),
        totalBytes: 2 ** 40,
        freeBytes: 2 ** 40,
      });
      const cache = await fixture.aCache({ clock, readDiskSpace: readSpace });
      disk.fillInodes(50);
      cache.setDesired([desired(source)]);
      await eventually(() => cache.stateOf(source.sha256)?.state === "Failed", {
        timeoutMs: 20_000,
        what: "the game to be refused",
      });
      for (let again = 0; again < 3; again++) {
        clock.jump(120_000);
        // Resolves when all due downloads have started.
        await cache.relieve();
      }
      expect(fixture.getsOf(source), "downloads").to.have.length(1);
      expect((await cache.report()).entries[0]?.reason).to.match(/^InsufficientSpace/);
      disk.clear();
      clock.jump(120_000);
      await isReady(cache, source);
      expect(fixture.getsOf(source), "downloads").to.have.length(2);
      await cache.stop();
    } finally {
      disk.remove();
    }
  });
});

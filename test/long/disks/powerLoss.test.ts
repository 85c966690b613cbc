import { randomBytes } from "node:crypto";
import { chownSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { setTimeout as passes } from "node:timers/promises";
import { expect } from "chai";
import type { ArchiveSource } from "#contracts/crd/gameCache.ts";
import { contentDirectory, sessionUserId, spoolNames } from "#contracts/nodeLayout.ts";
import { aGameTar, aTarGz, type TarEntrySpec } from "#test/factories/tarArchive.ts";
import { eventually } from "#test/support/clocks/eventually.ts";
import { mountSmallDisk, type SmallDisk } from "#test/support/disks/smallDisk.ts";
import {
  beforeEachWithContentCaches,
  isReady,
  type ContentCacheFixture,
} from "#test/support/fixtures/contentCacheFixture.ts";
import { createPackerFixture, type PackerFixture } from "#test/support/fixtures/packerFixture.ts";
import { storeArchive } from "#test/support/stores/storedArchive.ts";

/** So many moments, from the begin of the work to some time after its end. */
const moments = 40;

describe("A power failure at any moment", function () {
  this.timeout(600_000);
  let disk: SmallDisk | undefined;

  function removeDisk(): void {
    disk?.remove();
    disk = undefined;
  }

  describe("during a download", () => {
    let fixture: ContentCacheFixture;

    // Before the folder that it is mounted on goes.
    afterEach(removeDisk);
    beforeEachWithContentCaches((fresh) => {
      fixture = fresh;
    });

    const files: TarEntrySpec[] = [
      ...aGameTar(randomBytes(6_000_000)),
      ...Array.from({ length: 150 }, (_, index) => ({
        name: `engine/level${index % 10}/${index}`,
        body: randomBytes(index * 200),
      })),
    ];

    function expectWhole({ sha256 }: ArchiveSource, when: string): void {
      for (const { name, body = "" } of files) {
        if (name.endsWith("/")) continue;
        const found = readFileSync(`${contentDirectory(fixture.root, sha256)}/${name}`);
        expect(found.equals(Buffer.from(body)), `${name}, power lost ${when}`).to.equal(true);
      }
    }

    it("leaves no incomplete game that counts as complete", async () => {
      disk = await mountSmallDisk(fixture.root, { megabytes: 128 });
      const source = await storeArchive(fixture.minio, aTarGz(files));
      let lastMs = 0;
      let isThereAfterwards = 0;
      for (let moment = 0; moment < moments; moment++) {
        const cache = await fixture.aCache();
        cache.demand("gs-1", source);
        await passes((lastMs * 1.5 * moment) / moments);
        const wasReady = cache.stateOf(source.sha256)?.state === "Ready";
        disk.losePower();
        await cache.stop();
        disk.restart();
        const when = `${moment} of ${moments}`;
        const next = await fixture.aCache();
        const isReadyNow = next.stateOf(source.sha256)?.state === "Ready";
        if (wasReady) expect(isReadyNow, `a game that was ready, power lost ${when}`).to.equal(true);
        if (isReadyNow) {
          isThereAfterwards += 1;
          expectWhole(source, when);
        }
        const began = performance.now();
        next.demand("gs-1", source);
        await isReady(next, source);
        // How long it takes, for the next moment; not when it was there already.
        if (!isReadyNow) lastMs = performance.now() - began;
        expectWhole(source, `${when}, and fetched again`);
        await next.stop();
        rmSync(`${fixture.root}/v1`, { recursive: true });
      }
      expect(isThereAfterwards, "moments after the game was ready").to.be.within(2, moments - 2);
    });
  });

  describe("during a pack", () => {
    let fixture: PackerFixture;

    beforeEach(() => {
      fixture = createPackerFixture();
    });

    afterEach(removeDisk);
    afterEach(() => fixture.remove());

    it("leaves a complete pack that its manifest names, not older than any seen before", async () => {
      const packed = fixture.spooled(spoolNames.packed);
      disk = await mountSmallDisk(packed, { megabytes: 64 });
      chownSync(packed, sessionUserId, sessionUserId);
      let run = await fixture.play();
      fixture.game("echo 0 > progress; head -c 300000 /dev/urandom > world");
      await fixture.packed();
      for (let moment = 0; moment < moments; moment++) {
        fixture.game(`echo ${moment} > progress; head -c 300000 /dev/urandom > world`);
        // The packer looks five times a second.
        await passes((400 * moment) / moments);
        const seen = fixture.manifest()?.save?.sequence ?? 0;
        disk.losePower();
        run.process.kill("SIGKILL");
        await run.exited;
        disk.restart();
        const { save } = fixture.manifest() ?? {};
        expect(save?.sequence, `power lost at ${moment} of ${moments}`).to.be.at.least(seen);
        expect(Object.keys(fixture.content(save!))).to.have.members(["progress", "world"]);
        run = fixture.start();
        const next = await fixture.packed((pack) => fixture.content(pack)["progress"] === `${moment}\n`);
        expect(next.sequence).to.be.at.least(seen);
      }
      writeFileSync(`${fixture.saves}/progress`, "the last\n");
      expect(await run.finish()).to.equal(0);
      await eventually(() => fixture.content(fixture.manifest()!.save!)["progress"] === "the last\n");
    });
  });
});

import { expect } from "chai";
import { WantedVersions } from "#node-agent/cache/wantedVersions.ts";
import { anArchiveSource } from "#test/factories/gameCache.ts";

const [held, due] = [anArchiveSource("a".repeat(64)), anArchiveSource("b".repeat(64))];

describe("WantedVersions", () => {
  let wants: WantedVersions;

  beforeEach(() => {
    wants = new WantedVersions();
    wants.setDesired(
      [held, due].map((source) => ({
        digest: source.sha256,
        source,
        priority: 5,
        pinned: false,
        hold: source === held,
      })),
    );
  });

  it("lists versions that are not on hold, and those on hold separately", () => {
    expect(wants.list().map(({ digest }) => digest)).to.deep.equal([due.sha256]);
    expect(wants.listWithHeld().map(({ digest, isHeld }) => [digest, isHeld])).to.deep.equal([
      [held.sha256, true],
      [due.sha256, false],
    ]);
  });

  it("takes a version off hold while a session waits for it", () => {
    wants.demand("gs-1", held);
    expect(wants.list().find(({ digest }) => digest === held.sha256)).to.include({
      isForLaunch: true,
      isHeld: false,
      priority: 5,
    });
    wants.release("gs-1");
    expect(wants.list().map(({ digest }) => digest)).to.deep.equal([due.sha256]);
  });
});

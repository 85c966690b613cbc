import { expect } from "chai";
import { publishedText } from "#publish/output/publishedText.ts";
import type { Published } from "#publish/publish.ts";

const address = new URL("https://joypod.example");
const versionId = "version-1";
const published: Published = {
  slug: "my-game",
  isNewGame: false,
  isPrivate: false,
  isCurrent: true,
  channel: undefined,
  upload: { versionId, isCurrent: true, size: 1000, checksum: `sha256:${"0f".repeat(32)}` },
  distribution: { servers: 2, cached: 2, pending: [] },
  verification: undefined,
};
const waiting = { ...published, isCurrent: false, distribution: undefined };

describe("publishedText", () => {
  it("says who gets the version", () => {
    expect(publishedText(published, address)).to.equal(
      "Published my-game, version version-1.\nGame servers that hold it: 2 of 2.\nPlayers get it: https://joypod.example/games/my-game",
    );
    expect(publishedText({ ...published, isPrivate: true }, address)).to.include("\nTesters get it: ");
    expect(publishedText({ ...waiting, channel: "beta" }, address)).to.match(
      /\nTesters of beta get it: .*\n.*activate version-1 --game my-game$/,
    );
    expect(publishedText(waiting, address))
      .to.include("Nobody gets it yet")
      .and.include("activate version-1");
  });

  it("says which game servers do not hold it, and why", () => {
    const text = (distribution: Published["distribution"]) =>
      publishedText({ ...published, distribution }, address);
    const message = "The server's disk has no room for the game.";
    const full = { id: "node-2", message, isExpected: true, isAwaited: true };
    const unasked = { id: "node-3", message: "Only on demand.", isExpected: false, isAwaited: false };
    expect(text({ servers: 3, cached: 1, pending: [full, unasked] })).to.match(
      /1 of 3[.]\n {2}node-2: The server's disk .*\nPlayers/,
    );
    expect(text({ servers: 2, cached: 1, pending: [unasked] })).to.include(
      "1 of 2. The others fetch it when a player needs it.\n",
    );
    expect(text({ servers: 0, cached: 0, pending: [] })).to.include("no game server at the moment");
  });

  it("shows the verdict with each finding", () => {
    const finding = {
      severity: "warning",
      message: "The game tried to write where it cannot.",
      details: ["/game/save.dat"],
      help: "docs/games.md#what-a-game-cannot-do",
    };
    const verification = { state: "done", verdict: "good", isRequired: false, findings: [finding] };
    expect(publishedText({ ...published, verification }, address)).to.include(
      "The verdict is good.\n  warning: The game tried to write where it cannot. [/game/save.dat] See docs/games.md#",
    );
    const none = { ...verification, verdict: null, findings: [] };
    expect(publishedText({ ...published, verification: { ...none, state: "waiting" } }, address)).to.include(
      "not verified yet: waiting",
    );
    expect(publishedText({ ...published, verification: { ...none, state: "expired" } }, address)).to.include(
      "was not verified",
    );
  });
});

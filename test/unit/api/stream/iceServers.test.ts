import { expect } from "chai";
import { iceServersFor, iceServersOfViewer, linkOf } from "#api/stream/iceServers.ts";
import type { ViewerRole } from "#contracts/viewerRole.ts";

const clock = { now: () => new Date(1_800_000_000_000) };

describe("iceServersFor", () => {
  it("returns no servers and no Link without a relay", () => {
    const { iceServers } = iceServersFor(
      { config: { turn: { relay: undefined, lifetimeSeconds: 60 } }, clock },
      "player",
    );
    expect(iceServers).to.deep.equal([]);
    expect(linkOf(iceServers)).to.equal(undefined);
  });

  it("signs the user's name and the expiry", () => {
    const turn = { relay: { urls: ["turn:a:1"], secret: "north" }, lifetimeSeconds: 60 };
    expect(iceServersFor({ config: { turn }, clock }, "player")).to.deep.equal({
      // openssl dgst -sha1 -hmac north -binary <<< 1800000060:player (without the newline) | base64
      iceServers: [
        { urls: ["turn:a:1"], username: "1800000060:player", credential: "3cOYj/i79+pQ4YaMzOTXuaDK9i0=" },
      ],
      expiresInSeconds: 60,
    });
  });
});

describe("iceServersOfViewer", () => {
  it("uses different names for watchers and players", () => {
    const turn = { relay: { urls: ["turn:a:1"], secret: "north" }, lifetimeSeconds: 60 };
    const nameOf = (role: ViewerRole): string | undefined =>
      iceServersOfViewer({ config: { turn }, clock }, { userId: "player", role }).iceServers[0]?.username;
    expect(nameOf("play")).to.equal("1800000060:player");
    expect(nameOf("watch")).to.equal("1800000060:player.watch");
  });
});

import { expect } from "chai";
import { iceServersFor, linkOf } from "#api/stream/iceServers.ts";

const clock = { now: () => new Date(1_800_000_000_000) };

describe("iceServersFor", () => {
  it("has none where there is no relay, and no Link", () => {
    const { iceServers } = iceServersFor({ config: { turn: { relay: undefined, lifetimeSeconds: 60 } }, clock }, "player");
    expect(iceServers).to.deep.equal([]);
    expect(linkOf(iceServers)).to.equal(undefined);
  });

  it("signs the user's name with its end", () => {
    const turn = { relay: { urls: ["turn:a:1"], secret: "north" }, lifetimeSeconds: 60 };
    expect(iceServersFor({ config: { turn }, clock }, "player")).to.deep.equal({
      // openssl dgst -sha1 -hmac north -binary <<< 1800000060:player (without the newline) | base64
      iceServers: [{ urls: ["turn:a:1"], username: "1800000060:player", credential: "3cOYj/i79+pQ4YaMzOTXuaDK9i0=" }], expiresInSeconds: 60,
    });
  });
});

import { expect } from "chai";
import { IceServers } from "#web/stream/iceServers.ts";

const hour = 3_600;

describe("IceServers", () => {
  let now: number;
  let asked: number;
  let respond: () => Promise<Response>;
  let iceServers: IceServers;

  beforeEach(() => {
    now = 0;
    asked = 0;
    respond = () =>
      Promise.resolve(
        Response.json({
          iceServers: [{ urls: ["turn:a"], username: `user ${asked}`, credential: "c" }],
          expiresInSeconds: hour,
        }),
      );
    iceServers = new IceServers({
      fetch: () => {
        asked += 1;
        return respond();
      },
      now: () => now,
    });
  });

  it("sends one request for successive or concurrent connections", async () => {
    const [first, second] = await Promise.all([iceServers.current(), iceServers.current()]);
    expect(first).to.deep.equal([{ urls: ["turn:a"], username: "user 1", credential: "c" }]);
    now = hour * 700;
    expect([second, await iceServers.current()]).to.deep.equal([first, first]);
    expect(asked).to.equal(1);
  });

  it("renews credentials before they expire", async () => {
    await iceServers.current();
    now = hour * 750;
    expect(await iceServers.current()).to.deep.equal([
      { urls: ["turn:a"], username: "user 2", credential: "c" },
    ]);
  });

  it("keeps valid credentials while renewal fails, and returns none after they expire", async () => {
    const known = await iceServers.current();
    for (const failing of [
      () => Promise.reject(new TypeError("no network")),
      () => Promise.resolve(new Response("", { status: 503 })),
      () => Promise.resolve(Response.json({})),
    ]) {
      respond = failing;
      now = hour * 900;
      expect(await iceServers.current()).to.deep.equal(known);
    }
    now = hour * 1_000;
    expect(await iceServers.current()).to.deep.equal([]);
  });

  it("renews credentials if the clock was set back, so that they are not kept too long", async () => {
    await iceServers.current();
    now = -1;
    expect(await iceServers.current()).to.deep.equal([
      { urls: ["turn:a"], username: "user 2", credential: "c" },
    ]);
  });

  it("returns an empty list without a relay", async () => {
    respond = () => Promise.resolve(Response.json({ iceServers: [], expiresInSeconds: hour }));
    expect(await iceServers.current()).to.deep.equal([]);
  });
});

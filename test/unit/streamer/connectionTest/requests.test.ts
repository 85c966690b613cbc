import { expect } from "chai";
import { connectionTest, type TestBurst, type TestRequest } from "#contracts/connectionTest.ts";
import { handleRequest } from "#streamer/connectionTest/requests.ts";
import { UnreadChannel } from "#test/support/session/unreadChannel.ts";

describe("handleRequest", () => {
  let channel: UnreadChannel;
  let bursts: TestBurst[];

  beforeEach(() => {
    channel = new UnreadChannel();
    bursts = [];
  });

  const handle = (request: TestRequest | string): void =>
    handleRequest(channel, typeof request === "string" ? request : JSON.stringify(request), (burst) =>
      bursts.push(burst),
    );

  it("returns pings and starts requested bursts", () => {
    handle({ t: "ping", n: 7 });
    handle({ t: "send", burst: "loss" });
    expect(channel.messages).to.deep.equal([`{"t":"ping","n":7}`]);
    expect(bursts).to.deep.equal(["loss"]);
  });

  it("returns no ping while 64 KiB are queued, so that a page that never reads cannot fill the memory", () => {
    for (let n = 0; n < 10_000; n++) handle({ t: "ping", n });
    expect(channel.waitingBytes).to.be.within(65_536, 65_600);
    handle({ t: "send", burst: "bandwidth" });
    expect(bursts, "though replies wait").to.deep.equal(["bandwidth"]);
  });

  it("drops invalid requests", () => {
    for (const junk of [
      "{",
      "null",
      `{"t":"send","burst":"all"}`,
      " ".repeat(connectionTest.maxMessageBytes) + `{"t":"ping","n":1}`,
    ])
      handle(junk);
    expect(channel.messages).to.deep.equal([]);
    expect(bursts).to.deep.equal([]);
  });
});

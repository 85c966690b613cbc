import { expect } from "chai";
import { sendNotice } from "#streamer/transport/notices.ts";
import { UnreadChannel } from "#test/support/session/unreadChannel.ts";

describe("sendNotice", () => {
  /** Returns what is sent on a channel whose browser reads nothing, or on a closed one. */
  function sentOn(state: { waitingBytes?: number; isOpen?: boolean }, count = 1): UnreadChannel {
    const channel = new UnreadChannel(state);
    for (let n = 0; n < count; n++) sendNotice(channel, { t: "pong", n });
    return channel;
  }

  it("sends a notice as JSON, also while others are queued", () => {
    expect(sentOn({}).messages).to.deep.equal([`{"t":"pong","n":0}`]);
    expect(sentOn({ waitingBytes: 65_535 }).messages).to.have.length(1);
  });

  it("drops notices while 64 KiB are queued, so that a browser that never reads cannot fill the memory", () => {
    expect(sentOn({ waitingBytes: 65_536 }).messages).to.deep.equal([]);
    expect(sentOn({}, 100_000).waitingBytes).to.be.within(65_536, 65_600);
  });

  it("drops a notice whose channel is closed", () => {
    expect(sentOn({ isOpen: false }).messages).to.deep.equal([]);
  });
});

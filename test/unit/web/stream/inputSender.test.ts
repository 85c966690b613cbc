import { expect } from "chai";
import { InputSender, type InputChannel } from "../../../../web/src/stream/inputSender.ts";

/** A channel whose buffer fills as bytes are sent and empties when told to. */
class SlowChannel extends EventTarget implements InputChannel {
  readyState: RTCDataChannelState = "open";
  bufferedAmount = 0;
  bufferedAmountLowThreshold = 0;
  readonly sent: string[] = [];

  send(text: string): void {
    this.sent.push(text);
    this.bufferedAmount += text.length;
  }

  drain(): void {
    this.bufferedAmount = 0;
    this.dispatchEvent(new Event("bufferedamountlow"));
  }
}

describe("InputSender", () => {
  it("sends at once while the channel keeps up", () => {
    const channel = new SlowChannel();
    new InputSender(channel).send({ t: "key", c: "Space", d: 1 });
    expect(channel.sent).to.deep.equal(['{"t":"key","c":"Space","d":1}']);
  });

  it("merges what waits for a full channel and sends it when that has drained", () => {
    const channel = new SlowChannel();
    const sender = new InputSender(channel);
    channel.bufferedAmount = 100_000;
    sender.send({ t: "move", x: 1, y: 1 });
    sender.send({ t: "move", x: 9, y: 9 });
    expect(channel.sent).to.deep.equal([]);
    channel.drain();
    expect(channel.sent).to.deep.equal(['{"t":"move","x":9,"y":9}']);
  });

  it("drops what comes while the channel is not open", () => {
    const channel = new SlowChannel();
    const sender = new InputSender(channel);
    channel.readyState = "connecting";
    sender.send({ t: "key", c: "Space", d: 1 });
    channel.readyState = "open";
    channel.drain();
    expect(channel.sent).to.deep.equal([]);
  });
});

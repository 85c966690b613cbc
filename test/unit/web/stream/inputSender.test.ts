import { expect } from "chai";
import { InputSender, type InputChannel } from "#web/stream/inputSender.ts";

/** A channel whose buffer fills with each message and empties on drain(). */
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
  it("sends at once while the channel's buffer is not full", () => {
    const channel = new SlowChannel();
    new InputSender(channel).send({ t: "key", c: "Space", d: 1 });
    expect(channel.sent).to.deep.equal(['{"t":"key","c":"Space","d":1}']);
  });

  it("merges messages while the channel's buffer is full and sends them when it has drained", () => {
    const channel = new SlowChannel();
    const sender = new InputSender(channel);
    channel.bufferedAmount = 100_000;
    sender.send({ t: "move", x: 1, y: 1 });
    sender.send({ t: "move", x: 9, y: 9 });
    expect(channel.sent).to.deep.equal([]);
    channel.drain();
    expect(channel.sent).to.deep.equal(['{"t":"move","x":9,"y":9}']);
  });

  it("drops messages while the channel is not open", () => {
    const channel = new SlowChannel();
    const sender = new InputSender(channel);
    channel.readyState = "connecting";
    sender.send({ t: "key", c: "Space", d: 1 });
    channel.readyState = "open";
    channel.drain();
    expect(channel.sent).to.deep.equal([]);
  });
});

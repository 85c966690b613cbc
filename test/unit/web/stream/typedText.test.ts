import { expect } from "chai";
import { StreamInput, maxInputMessageBytes } from "#contracts/stream.ts";
import { messagesFor, tapsFor } from "#web/stream/typedText.ts";

const plain = { ctrlKey: false, altKey: false, metaKey: false };

describe("messagesFor", () => {
  it("splits text into messages that the streamer accepts, between characters", () => {
    const text = '😀"\n'.repeat(200);
    const messages = messagesFor(text);
    expect(messages.map((message) => message.t === "text" && message.s).join("")).to.equal(text);
    for (const message of messages) {
      expect(StreamInput.safeParse(message).success).to.equal(true);
      expect(JSON.stringify(message).length).to.be.at.most(maxInputMessageBytes);
    }
  });

  it("cuts very long text, and sends nothing for none", () => {
    expect(messagesFor("x".repeat(100_000))).to.have.length(10);
    expect(messagesFor("")).to.deep.equal([]);
  });

  it("sends each line break once", () => {
    expect(messagesFor("a\r\nb\rc")).to.deep.equal([{ t: "text", s: "a\nb\nc" }]);
  });
});

describe("tapsFor", () => {
  it("taps keys that write nothing into an empty field", () => {
    expect(tapsFor({ key: "Enter", ...plain })).to.deep.equal([
      { t: "key", c: "Enter", d: 1 },
      { t: "key", c: "Enter", d: 0 },
    ]);
  });

  it("leaves characters, Tab and the field's shortcuts to the field", () => {
    expect(tapsFor({ key: "a", ...plain })).to.deep.equal([]);
    expect(tapsFor({ key: "Tab", ...plain })).to.deep.equal([]);
    expect(tapsFor({ key: "Backspace", ...plain, ctrlKey: true })).to.deep.equal([]);
  });
});

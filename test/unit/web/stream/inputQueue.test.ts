import { expect } from "chai";
import fc from "fast-check";
import type { StreamInput } from "#contracts/stream.ts";
import { InputQueue } from "#web/stream/inputQueue.ts";

function drain(queue: InputQueue): StreamInput[] {
  const messages: StreamInput[] = [];
  for (let next = queue.shift(); next !== undefined; next = queue.shift()) messages.push(next);
  return messages;
}

function queueOf(messages: StreamInput[], capacity?: number): InputQueue {
  const queue = new InputQueue(capacity);
  for (const message of messages) queue.push(message);
  return queue;
}

const key = (code: string, down: 0 | 1): StreamInput => ({ t: "key", c: code, d: down });
const pad = (bits: number, x = 0, i = 0): StreamInput => ({
  t: "pad",
  i,
  s: [x, 0, 0, 0],
  l: 0,
  r: 0,
  b: bits,
});

describe("InputQueue", () => {
  it("keeps only the last stick positions of each of several gamepads", () => {
    const queued = queueOf([
      pad(0, 1, 0),
      pad(0, 2, 1),
      pad(0, 3, 0),
      pad(0, 4, 1),
      pad(1, 5, 0),
      pad(0, 6, 1),
    ]);
    expect(drain(queued)).to.deep.equal([pad(0, 3, 0), pad(0, 6, 1), pad(1, 5, 0)]);
  });

  it("keeps only the last of several pointer positions", () => {
    expect(
      drain(
        queueOf([
          { t: "move", x: 1, y: 1 },
          { t: "move", x: 2, y: 2 },
        ]),
      ),
    ).to.deep.equal([{ t: "move", x: 2, y: 2 }]);
  });

  it("keeps that the pointer came from elsewhere before its last position", () => {
    expect(
      drain(
        queueOf([
          { t: "move", x: 1, y: 1, e: 1 },
          { t: "move", x: 2, y: 2 },
        ]),
      ),
    ).to.deep.equal([{ t: "move", x: 2, y: 2, e: 1 }]);
  });

  it("adds up relative movements and notches, within the limits of a message", () => {
    expect(
      drain(
        queueOf([
          { t: "rel", x: 3, y: -1 },
          { t: "rel", x: 4, y: -1 },
          { t: "wheel", x: 0, y: 12 },
          { t: "wheel", x: 0, y: 12 },
        ]),
      ),
    ).to.deep.equal([
      { t: "rel", x: 7, y: -2 },
      { t: "wheel", x: 0, y: 16 },
    ]);
  });

  it("keeps only the last of several held states", () => {
    const held = (...k: string[]): StreamInput => ({ t: "held", k, b: 0 });
    expect(drain(queueOf([held("KeyW"), held(), key("KeyA", 1), held("KeyA")]))).to.deep.equal([
      held(),
      key("KeyA", 1),
      held("KeyA"),
    ]);
  });

  it("does not move a click to another position", () => {
    const messages: StreamInput[] = [
      { t: "move", x: 1, y: 1 },
      { t: "btn", b: 0, d: 1 },
      { t: "move", x: 2, y: 2 },
    ];
    expect(drain(queueOf(messages))).to.deep.equal(messages);
  });

  it("does not lose a gamepad button that was tapped between two messages", () => {
    expect(drain(queueOf([pad(0), pad(1), pad(0), pad(0, 5)]))).to.deep.equal([pad(0), pad(1), pad(0, 5)]);
  });

  it("drops motion first when it is full", () => {
    const queue = queueOf([key("KeyA", 1), { t: "move", x: 1, y: 1 }, key("KeyA", 0), key("KeyB", 1)], 3);
    expect(drain(queue)).to.deep.equal([key("KeyA", 1), key("KeyA", 0), key("KeyB", 1)]);
  });

  it("replaces old presses by one release of everything when it is full", () => {
    expect(drain(queueOf([key("KeyA", 1), key("KeyB", 1), key("KeyC", 1)], 2))).to.deep.equal([
      { t: "release" },
    ]);
  });

  it("never holds more than its capacity", () => {
    const anyMessage = fc.oneof<fc.Arbitrary<StreamInput>[]>(
      fc.constantFrom(key("KeyA", 1), key("KeyA", 0), pad(1), pad(0)),
      fc.record({ t: fc.constant("move" as const), x: fc.nat(100), y: fc.nat(100) }),
    );
    fc.assert(
      fc.property(fc.array(anyMessage, { maxLength: 200 }), (messages) => queueOf(messages, 8).length <= 8),
    );
  });
});

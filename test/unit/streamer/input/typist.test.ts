import { expect } from "chai";
import { createTypist, type Typist } from "#streamer/input/typist.ts";

describe("createTypist", () => {
  let log: string[];
  let due: (() => void)[];
  let isFull: boolean;
  let typist: Typist;

  beforeEach(() => {
    log = [];
    due = [];
    isFull = false;
    typist = createTypist({
      clock: {
        setTimer: (_ms, callback) => {
          due.push(callback);
          return { cancel: () => void (due = due.filter((other) => other !== callback)) };
        },
      },
      keyFor: (character) => (isFull ? undefined : character.codePointAt(0)),
      press: (keyCode, isDown) => void log.push(`${keyCode} ${isDown ? "down" : "up"}`),
      liftModifiers: () => {
        log.push("lift");
        return () => void log.push("press again");
      },
    });
  });
  const runTimers = () => {
    for (let callback = due.shift(); callback; callback = due.shift()) callback();
  };

  it("types characters, Return and Tab one after the other, with the modifiers lifted", () => {
    typist.type("a\r\n\tb\u0007");
    runTimers();
    expect(log).to.deep.equal([
      "lift",
      ...["97 down", "97 up", "36 down", "36 up", "23 down", "23 up", "98 down", "98 up"],
      "press again",
    ]);
  });

  it("runs actions after the text before them, and at once without text", () => {
    typist.after(() => log.push("first"));
    typist.type("a");
    typist.after(() => log.push("second"));
    expect(log).to.deep.equal(["first", "lift", "97 down"]);
    runTimers();
    expect(log.slice(2)).to.deep.equal(["97 down", "97 up", "press again", "second"]);
  });

  it("waits for a free key", () => {
    isFull = true;
    typist.type("a");
    due.shift()?.();
    expect(log).to.deep.equal(["lift"]);
    isFull = false;
    runTimers();
    expect(log).to.deep.equal(["lift", "97 down", "97 up", "press again"]);
  });

  it("drops the rest of the text, but no action, when it is cleared", () => {
    typist.type("ab");
    typist.after(() => log.push("action"));
    typist.clear();
    runTimers();
    expect(log).to.deep.equal(["lift", "97 down", "97 up", "press again", "action"]);
  });

  it("keeps a bounded number of characters", () => {
    for (let message = 0; message < 100; message++) typist.type("x".repeat(200));
    runTimers();
    expect(log.filter((line) => line === "120 down").length).to.be.within(4_000, 4_100);
  });
});

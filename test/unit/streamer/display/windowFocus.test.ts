import { expect } from "chai";
import type { Callback, Property } from "x11";
import { createWindowFocus, type WindowFocus, type WindowFocusDeps } from "#streamer/display/windowFocus.ts";

const [root, check, game, dialog] = [5, 6, 7, 8];
const atoms = { WM_PROTOCOLS: 101, WM_TAKE_FOCUS: 102, WM_HINTS: 35 };
const propertyNotify = 28;
const sentByClient = 0x80;

describe("createWindowFocus", () => {
  let properties: Map<number, Record<number, number[]>>; // of the windows that exist, by atom
  let managed: Set<number>;
  let focused: number;
  let time: number;
  let replies: (() => void)[]; // What the server sends, in the order of the requests.
  let done: (string | number)[][];
  let focus: WindowFocus;

  beforeEach(() => {
    const takesFocus = { [atoms.WM_PROTOCOLS]: [atoms.WM_TAKE_FOCUS] };
    properties = new Map([
      [game, takesFocus],
      [dialog, takesFocus],
    ]);
    managed = new Set([game, dialog]);
    focused = root;
    time = 1_000;
    replies = [];
    done = [];
    const client: WindowFocusDeps["connection"]["client"] = {
      GetProperty: (_remove, window, property, _type, _offset, _length, callback) => {
        replies.push(() =>
          respond(callback, properties.get(window)?.[property] ?? [], properties.has(window)),
        );
      },
      GetInputFocus: (callback) => {
        replies.push(() => callback(undefined, { focus: focused }));
      },
      SetInputFocus: (window) => {
        done.push(["focus", window]);
      },
      SendClientMessage: (_destination, window, type, _format, data, mask) => {
        done.push(["message", window, type, ...data, mask]);
      },
    };
    const setProperty: WindowFocusDeps["setProperty"] = (window, name, _type, ...values) => {
      if (window === root) done.push([name, ...values]);
      else
        replies.push(() =>
          focus.handleEvent({
            name: "PropertyNotify",
            wid: window,
            time: ++time,
            rawData: Buffer.of(propertyNotify),
          }),
        );
    };
    focus = createWindowFocus({
      connection: { client, root },
      atoms,
      setProperty,
      check,
      isManaged: (window) => managed.has(window),
    });
  });

  function respond(callback: Callback<Property>, values: number[], exists: boolean): void {
    const data = Buffer.from(Uint32Array.from(values).buffer);
    callback(exists ? undefined : new Error("Bad param value"), { type: 0, data });
  }
  /** Sends the next replies, or all that come. */
  function reply(count = Infinity): void {
    for (let sent = 0; sent < count && replies.length > 0; sent++) replies.shift()?.();
  }
  const message = (window: number, at: number) => [
    "message",
    window,
    atoms.WM_PROTOCOLS,
    atoms.WM_TAKE_FOCUS,
    at,
    0,
  ];

  it("focuses a window and then asks it to take the focus, at the server's time", () => {
    focus.give(game);
    reply();
    expect(done).to.deep.equal([["focus", game], ["_NET_ACTIVE_WINDOW", game], message(game, 1_001)]);
  });

  it("asks no window that does not say that it can be asked", () => {
    properties.set(game, {});
    focus.give(game);
    reply();
    expect(done).to.deep.equal([
      ["focus", game],
      ["_NET_ACTIVE_WINDOW", game],
    ]);
  });

  it("leaves it to a window that wants no input from it to set the focus, if that can be asked", () => {
    const hints = { [atoms.WM_HINTS]: [1, 0] };
    properties.set(game, { ...properties.get(game), ...hints });
    focus.give(game);
    reply();
    expect(done).to.deep.equal([["_NET_ACTIVE_WINDOW", game], message(game, 1_001)]);
    properties.set(dialog, hints);
    focus.give(dialog);
    reply();
    expect(done.slice(2)).to.deep.equal([
      ["focus", dialog],
      ["_NET_ACTIVE_WINDOW", dialog],
    ]);
  });

  it("forgets a decision when a later one is made, whatever it waits for", () => {
    focus.give(game);
    focus.give(dialog);
    reply();
    expect(done).to.deep.equal([["focus", dialog], ["_NET_ACTIVE_WINDOW", dialog], message(dialog, 1_001)]);
    done = [];
    focus.give(game);
    reply(2);
    focus.give(dialog);
    reply();
    expect(done.filter(([kind]) => kind === "message")).to.deep.equal([message(dialog, 1_003)]);
  });

  it("leaves a window alone that is hidden or closed meanwhile", () => {
    focus.give(game);
    managed.delete(game);
    reply();
    focus.give(dialog);
    properties.delete(dialog);
    reply();
    expect(done).to.deep.equal([]);
  });

  it("does not ask a window that is hidden after it was focused", () => {
    focus.give(game);
    reply(2);
    managed.delete(game);
    reply();
    expect(done).to.deep.equal([
      ["focus", game],
      ["_NET_ACTIVE_WINDOW", game],
    ]);
  });

  it("takes no client's word for the time", () => {
    focus.give(game);
    reply(3);
    focus.handleEvent({
      name: "PropertyNotify",
      wid: check,
      time: 5,
      rawData: Buffer.of(propertyNotify | sentByClient),
    });
    reply();
    expect(done.at(-1)).to.deep.equal(message(game, 1_001));
  });

  for (const nobody of [0, 1, root]) {
    it(`gives the keyboard to the window on top when ${nobody === root ? "the root window" : nobody} is what has it`, () => {
      focused = nobody;
      focus.restore(() => game);
      reply();
      expect(done).to.deep.equal([["focus", game], ["_NET_ACTIVE_WINDOW", game], message(game, 1_001)]);
    });
  }

  it("takes the keyboard from no window that has it", () => {
    focused = dialog;
    focus.restore(() => game);
    reply();
    expect(done).to.deep.equal([]);
  });

  it("looks which window is on top when it has heard that none has the keyboard", () => {
    let top: number | undefined = game;
    focus.restore(() => top);
    top = undefined;
    reply();
    expect(done).to.deep.equal([]);
  });

  it("restores nothing when a decision was made meanwhile", () => {
    focus.restore(() => game);
    focus.give(dialog);
    reply();
    expect(done.filter(([kind]) => kind === "focus")).to.deep.equal([["focus", dialog]]);
  });
});

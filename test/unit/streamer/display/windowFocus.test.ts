import { expect } from "chai";
import type { Callback, Property } from "x11";
import { createWindowFocus, type WindowFocus, type WindowFocusDeps } from "#streamer/display/windowFocus.ts";

const [root, check, game, dialog] = [5, 6, 7, 8];
const atoms = { WM_PROTOCOLS: 101, WM_TAKE_FOCUS: 102, WM_HINTS: 35 };
const propertyNotify = 28;
const sentByClient = 0x80;

describe("createWindowFocus", () => {
  let properties: Map<number, Record<number, number[]>>; // of existing windows, by atom
  let managed: Set<number>;
  let focused: number;
  let time: number;
  let replies: (() => void)[]; // The server's replies, in the order of the requests.
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
  /** Sends the next replies, or all of them. */
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

  it("focuses a window and then sends it WM_TAKE_FOCUS with the server's time", () => {
    focus.give(game);
    reply();
    expect(done).to.deep.equal([["focus", game], ["_NET_ACTIVE_WINDOW", game], message(game, 1_001)]);
  });

  it("sends WM_TAKE_FOCUS only to windows that support it", () => {
    properties.set(game, {});
    focus.give(game);
    reply();
    expect(done).to.deep.equal([
      ["focus", game],
      ["_NET_ACTIVE_WINDOW", game],
    ]);
  });

  it("does not focus a window that focuses itself, if it supports WM_TAKE_FOCUS", () => {
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

  it("drops a pending decision when a later one is made", () => {
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

  it("ignores a window that was hidden or closed in the meantime", () => {
    focus.give(game);
    managed.delete(game);
    reply();
    focus.give(dialog);
    properties.delete(dialog);
    reply();
    expect(done).to.deep.equal([]);
  });

  it("sends no WM_TAKE_FOCUS to a window hidden after it was focused", () => {
    focus.give(game);
    reply(2);
    managed.delete(game);
    reply();
    expect(done).to.deep.equal([
      ["focus", game],
      ["_NET_ACTIVE_WINDOW", game],
    ]);
  });

  it("ignores times sent by clients", () => {
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
    it(`focuses the topmost window when the focus is on ${nobody === root ? "the root window" : nobody}`, () => {
      focused = nobody;
      focus.restore(() => game);
      reply();
      expect(done).to.deep.equal([["focus", game], ["_NET_ACTIVE_WINDOW", game], message(game, 1_001)]);
    });
  }

  it("never takes the focus from a window", () => {
    focused = dialog;
    focus.restore(() => game);
    reply();
    expect(done).to.deep.equal([]);
  });

  it("determines the topmost window only once it knows that no window has the focus", () => {
    let top: number | undefined = game;
    focus.restore(() => top);
    top = undefined;
    reply();
    expect(done).to.deep.equal([]);
  });

  it("restores nothing if another decision was made in the meantime", () => {
    focus.restore(() => game);
    focus.give(dialog);
    reply();
    expect(done.filter(([kind]) => kind === "focus")).to.deep.equal([["focus", dialog]]);
  });
});

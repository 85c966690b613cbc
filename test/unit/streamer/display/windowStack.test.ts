import { expect } from "chai";
import { WindowStack } from "#streamer/display/windowStack.ts";

const [game, launcher, dialog, question] = [1, 2, 3, 4];

describe("WindowStack", () => {
  let stack: WindowStack;

  beforeEach(() => {
    stack = new WindowStack();
  });

  /** Takes the windows off one by one, and returns them, the lowest first. */
  function order(): number[] {
    const windows: number[] = [];
    while (stack.top !== undefined) {
      windows.unshift(stack.top);
      stack.remove(stack.top);
    }
    return windows;
  }

  it("has the window on top that was opened last", () => {
    expect(stack.top).to.equal(undefined);
    stack.add(game);
    stack.add(launcher);
    expect(stack.top).to.equal(launcher);
    expect(stack.remove(launcher)).to.equal(true);
    expect(stack.remove(launcher)).to.equal(false);
    expect(stack.top).to.equal(game);
    expect(stack.size).to.equal(1);
  });

  it("tells dialogs from the windows that they belong to", () => {
    stack.add(game);
    stack.add(dialog, game);
    expect([game, dialog, launcher].map((window) => stack.isDialog(window))).to.deep.equal([
      false,
      true,
      false,
    ]);
    expect([game, dialog, launcher].map((window) => stack.has(window))).to.deep.equal([true, true, false]);
  });

  it("lists windows in the order of their opening, whichever was raised since", () => {
    stack.add(game);
    stack.add(launcher);
    expect(stack.raise(game)).to.deep.equal([]);
    expect(stack.windows).to.deep.equal([game, launcher]);
    expect(order()).to.deep.equal([launcher, game]);
  });

  it("raises with a window its dialogs and theirs, in the order that they have", () => {
    stack.add(game);
    stack.add(dialog, game);
    stack.add(question, dialog);
    stack.add(launcher);
    expect(stack.raise(game)).to.deep.equal([dialog, question]);
    expect(order()).to.deep.equal([launcher, game, dialog, question]);
  });

  it("raises a dialog without the window that it belongs to", () => {
    stack.add(game);
    stack.add(dialog, game);
    stack.add(launcher);
    expect(stack.raise(dialog)).to.deep.equal([]);
    expect(order()).to.deep.equal([game, launcher, dialog]);
  });

  it("puts a window under its dialogs that is hidden and shown again", () => {
    stack.add(game);
    stack.add(dialog, game);
    stack.remove(game);
    stack.add(game);
    expect(stack.raise(game)).to.deep.equal([dialog]);
    expect(order()).to.deep.equal([game, dialog]);
  });

  it("bears windows that belong to each other, or to themselves", () => {
    stack.add(game);
    stack.add(dialog, game);
    stack.add(game, dialog);
    stack.add(launcher, launcher);
    expect(stack.raise(game)).to.deep.equal([dialog]);
    expect(stack.raise(launcher)).to.deep.equal([]);
    expect(order()).to.deep.equal([game, dialog, launcher]);
  });
});

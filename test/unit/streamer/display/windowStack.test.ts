import { expect } from "chai";
import { createWindowStack, type WindowStack } from "#streamer/display/windowStack.ts";

const [game, launcher, dialog, question] = [1, 2, 3, 4];

describe("createWindowStack", () => {
  let stack: WindowStack;

  beforeEach(() => {
    stack = createWindowStack();
  });

  /** Removes the windows one by one and returns them, lowest first. */
  function order(): number[] {
    const windows: number[] = [];
    for (let top = stack.top(); top !== undefined; top = stack.top()) {
      windows.unshift(top);
      stack.remove(top);
    }
    return windows;
  }

  it("returns the last opened window as the top", () => {
    expect(stack.top()).to.equal(undefined);
    stack.add(game);
    stack.add(launcher);
    expect(stack.top()).to.equal(launcher);
    expect(stack.remove(launcher)).to.equal(true);
    expect(stack.remove(launcher)).to.equal(false);
    expect(stack.top()).to.equal(game);
    expect(stack.size()).to.equal(1);
  });

  it("distinguishes dialogs from their owners", () => {
    stack.add(game);
    stack.add(dialog, game);
    expect([game, dialog, launcher].map((window) => stack.isDialog(window))).to.deep.equal([
      false,
      true,
      false,
    ]);
    expect([game, dialog, launcher].map((window) => stack.has(window))).to.deep.equal([true, true, false]);
  });

  it("lists windows in opening order, even after one was raised", () => {
    stack.add(game);
    stack.add(launcher);
    expect(stack.raise(game)).to.deep.equal([]);
    expect(stack.windows()).to.deep.equal([game, launcher]);
    expect(order()).to.deep.equal([launcher, game]);
  });

  it("raises a window together with its dialogs and their dialogs, in their current order", () => {
    stack.add(game);
    stack.add(dialog, game);
    stack.add(question, dialog);
    stack.add(launcher);
    expect(stack.raise(game)).to.deep.equal([dialog, question]);
    expect(order()).to.deep.equal([launcher, game, dialog, question]);
  });

  it("raises a dialog without its owner", () => {
    stack.add(game);
    stack.add(dialog, game);
    stack.add(launcher);
    expect(stack.raise(dialog)).to.deep.equal([]);
    expect(order()).to.deep.equal([game, launcher, dialog]);
  });

  it("keeps dialogs above a window that is hidden and shown again", () => {
    stack.add(game);
    stack.add(dialog, game);
    stack.remove(game);
    stack.add(game);
    expect(stack.raise(game)).to.deep.equal([dialog]);
    expect(order()).to.deep.equal([game, dialog]);
  });

  it("accepts windows that own each other or themselves", () => {
    stack.add(game);
    stack.add(dialog, game);
    stack.add(game, dialog);
    stack.add(launcher, launcher);
    expect(stack.raise(game)).to.deep.equal([dialog]);
    expect(stack.raise(launcher)).to.deep.equal([]);
    expect(order()).to.deep.equal([game, dialog, launcher]);
  });
});

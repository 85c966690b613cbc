import { expect } from "chai";
import { isFullscreen } from "#web/stream/fullscreen.ts";
import { isPointerLocked, unlockPointer } from "#web/stream/pointerLock.ts";

describe("a document", () => {
  it("counts as locked and as full screen only by an element", () => {
    expect([
      isPointerLocked({ pointerLockElement: {} }),
      isPointerLocked({ pointerLockElement: null }),
    ]).to.deep.equal([true, false]);
    expect([
      isFullscreen({ fullscreenElement: {} }),
      isFullscreen({ fullscreenElement: null }),
    ]).to.deep.equal([true, false]);
  });

  it("counts as neither in a browser that has no such interface", () => {
    expect([isPointerLocked({}), isFullscreen({})]).to.deep.equal([false, false]);
    expect(() => unlockPointer({})).to.not.throw();
  });
});

import { expect } from "chai";
import { isFullscreen } from "#web/stream/fullscreen.ts";
import { isPointerLocked, unlockPointer } from "#web/stream/pointerLock.ts";

describe("isPointerLocked and isFullscreen", () => {
  it("are true only if an element is locked or full screen", () => {
    expect([
      isPointerLocked({ pointerLockElement: {} }),
      isPointerLocked({ pointerLockElement: null }),
    ]).to.deep.equal([true, false]);
    expect([
      isFullscreen({ fullscreenElement: {} }),
      isFullscreen({ fullscreenElement: null }),
    ]).to.deep.equal([true, false]);
  });

  it("are false in a browser without these interfaces", () => {
    expect([isPointerLocked({}), isFullscreen({})]).to.deep.equal([false, false]);
    expect(() => unlockPointer({})).to.not.throw();
  });
});

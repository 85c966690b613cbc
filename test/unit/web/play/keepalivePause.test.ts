import { expect } from "chai";
import { keepalivePauseMs } from "../../../../web/src/play/keepalivePause.ts";

describe("the pause between keepalives", () => {
  const pause = (leftMs: number): number => keepalivePauseMs(new Date(1_000_000 + leftMs).toISOString(), 1_000_000);

  it("is a minute while much is left", () => {
    expect(pause(30 * 60_000)).to.equal(60_000);
  });

  it("is a third of what is left of a short idle timeout", () => {
    expect(pause(45_000)).to.equal(15_000);
  });

  it("is never so short that it floods the platform", () => {
    expect(pause(3_000)).to.equal(5_000);
    expect(pause(-60_000)).to.equal(5_000);
  });
});

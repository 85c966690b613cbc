import { expect } from "chai";
import { keepalivePauseMs } from "#web/play/keepalivePause.ts";

describe("keepalivePauseMs", () => {
  const pause = (leftMs: number): number => keepalivePauseMs(new Date(1_000_000 + leftMs).toISOString(), 1_000_000);

  it("is a minute while the idle end is far", () => {
    expect(pause(30 * 60_000)).to.equal(60_000);
  });

  it("is a third of the time left when the idle timeout is short", () => {
    expect(pause(45_000)).to.equal(15_000);
  });

  it("is never shorter than five seconds", () => {
    expect(pause(3_000)).to.equal(5_000);
    expect(pause(-60_000)).to.equal(5_000);
  });
});

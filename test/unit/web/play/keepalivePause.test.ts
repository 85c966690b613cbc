import { expect } from "chai";
import { keepalivePauseMs } from "#web/play/keepalivePause.ts";

describe("keepalivePauseMs", () => {
  it("is a minute while the idle end is far", () => {
    expect(keepalivePauseMs(30 * 60_000)).to.equal(60_000);
  });

  it("is a third of the time left when the idle timeout is short", () => {
    expect(keepalivePauseMs(45_000)).to.equal(15_000);
  });

  it("is never shorter than five seconds", () => {
    expect(keepalivePauseMs(3_000)).to.equal(5_000);
    expect(keepalivePauseMs(-60_000)).to.equal(5_000);
  });
});

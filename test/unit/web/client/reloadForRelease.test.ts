import { expect } from "chai";
import { mayReload } from "#web/client/reloadForRelease.ts";

describe("mayReload", () => {
  const noon = Date.parse("2026-03-01T12:00:00Z");
  const refuse = (): never => {
    throw new DOMException("The operation is insecure.", "SecurityError");
  };

  it("allows one reload a minute", () => {
    const items = new Map<string, string>();
    const storage = {
      getItem: (name: string) => items.get(name) ?? null,
      setItem: (name: string, value: string) => void items.set(name, value),
    };
    expect([0, 59_000, 61_000].map((later) => mayReload(() => storage, noon + later))).to.deep.equal([
      true,
      false,
      true,
    ]);
  });

  it("is false without storage, where reloads would never end", () => {
    expect(mayReload(() => null, noon)).to.equal(false);
    expect(mayReload(refuse, noon)).to.equal(false);
    expect(mayReload(() => ({ getItem: () => null, setItem: refuse }), noon)).to.equal(false);
  });
});

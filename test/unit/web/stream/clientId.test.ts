import { expect } from "chai";
import { WhepClientId } from "#contracts/stream.ts";
import { takeClientId } from "#web/stream/clientId.ts";

describe("takeClientId", () => {
  function aTab(copied: [string, string][] = []): {
    storage: Map<string, string>;
    page: EventTarget;
    load: () => string;
  } {
    const items = new Map(copied);
    const storage = {
      getItem: (name: string) => items.get(name) ?? null,
      setItem: (name: string, value: string) => void items.set(name, value),
      removeItem: (name: string) => void items.delete(name),
    };
    let made = 0;
    const page = new EventTarget();
    return {
      storage: items,
      page,
      load: () => takeClientId({ storage: () => storage, page, randomId: () => `made-here-${(made += 1)}` }),
    };
  }

  it("returns the same id after a reload", () => {
    const tab = aTab();
    const id = tab.load();
    tab.page.dispatchEvent(new Event("pagehide"));
    expect(tab.load()).to.equal(id);
    expect(WhepClientId.safeParse(id).success).to.equal(true);
  });

  it("leaves no id that a duplicated tab would copy", () => {
    const tab = aTab();
    tab.load();
    expect([...tab.storage]).to.deep.equal([]);
  });

  it("returns an id even without storage", () => {
    const page = new EventTarget();
    const refuse = (): never => {
      throw new DOMException("The operation is insecure.", "SecurityError");
    };
    for (const storage of [
      refuse,
      () => null,
      () => ({ getItem: refuse, setItem: refuse, removeItem: refuse }),
    ]) {
      expect(takeClientId({ storage, page, randomId: () => "made-here" })).to.equal("made-here");
    }
    for (const name of ["pagehide", "pageshow"]) expect(page.dispatchEvent(new Event(name))).to.equal(true);
  });
});

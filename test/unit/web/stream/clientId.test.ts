import { expect } from "chai";
import { WhepClientId } from "#contracts/stream.ts";
import { takeClientId } from "#web/stream/clientId.ts";

describe("takeClientId", () => {
  function aTab(copied: [string, string][] = []): { storage: Map<string, string>; page: EventTarget; load: () => string } {
    const items = new Map(copied);
    const storage = {
      getItem: (name: string) => items.get(name) ?? null,
      setItem: (name: string, value: string) => void items.set(name, value),
      removeItem: (name: string) => void items.delete(name),
    };
    let made = 0;
    const page = new EventTarget();
    return { storage: items, page, load: () => takeClientId({ storage, page, randomId: () => `made-here-${(made += 1)}` }) };
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
});

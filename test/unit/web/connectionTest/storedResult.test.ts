import { expect } from "chai";
import { readTestResult, storeTestResult } from "#web/connectionTest/storedResult.ts";
import { networkKind } from "#web/connectionTest/networkKind.ts";
import type { TestResult } from "#web/connectionTest/testResult.ts";

describe("the stored result of a connection test", () => {
  const before = Object.getOwnPropertyDescriptor(globalThis, "localStorage");
  const result: TestResult = {
    testedAt: new Date().toISOString(),
    network: networkKind(),
    direct: { state: "blocked" },
    relay: { state: "absent" },
    decoders: [],
  };

  function browserWith(storage: () => unknown): void {
    Object.defineProperty(globalThis, "localStorage", { configurable: true, get: storage });
  }

  function aStorage(): {
    getItem: (name: string) => string | null;
    setItem: (name: string, value: string) => void;
    values: Map<string, string>;
  } {
    const values = new Map<string, string>();
    return {
      values,
      getItem: (name) => values.get(name) ?? null,
      setItem: (name, value) => void values.set(name, value),
    };
  }

  after(() => {
    Reflect.deleteProperty(globalThis, "localStorage");
    if (before !== undefined) Object.defineProperty(globalThis, "localStorage", before);
  });

  it("is the one that was stored last", () => {
    const storage = aStorage();
    browserWith(() => storage);
    expect(readTestResult()).to.equal(undefined);
    storeTestResult({ ...result, direct: { state: "absent" } });
    storeTestResult(result);
    expect(readTestResult()).to.deep.equal(result);
  });

  it("may be one of the direct way alone", () => {
    const storage = aStorage();
    browserWith(() => storage);
    const direct: TestResult = {
      ...result,
      direct: { state: "works", figures: { roundTripMs: 9, loss: 0 } },
      relay: { state: "untested" },
    };
    storeTestResult(direct);
    expect(readTestResult()).to.deep.equal(direct);
  });

  it("is none where what is stored is no JSON, or says something else", () => {
    const storage = aStorage();
    browserWith(() => storage);
    storeTestResult(result);
    for (const text of ["{", "", "null", '{"testedAt":1}']) {
      for (const name of storage.values.keys()) storage.setItem(name, text);
      expect(readTestResult(), text).to.equal(undefined);
    }
  });

  it("is none in a browser that has no storage, or refuses it", () => {
    const refuse = (): never => {
      throw new DOMException("The operation is insecure.", "SecurityError");
    };
    for (const storage of [refuse, () => null, () => ({ getItem: refuse, setItem: refuse })]) {
      browserWith(storage);
      storeTestResult(result);
      expect(readTestResult()).to.equal(undefined);
    }
  });
});

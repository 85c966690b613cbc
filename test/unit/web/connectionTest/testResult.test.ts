import { expect } from "chai";
import {
  readTestResult,
  storeTestResult,
  networkKind,
  type TestResult,
  chooseLaunchStart,
  isCurrent,
  type PathFigures,
} from "#web/connectionTest/testResult.ts";

const now = Date.parse("2030-01-01T12:00:00Z");

describe("chooseLaunchStart", () => {
  it("starts with a share of the bandwidth, within bounds", () => {
    expect(chooseLaunchStart(aResult())).to.deep.equal({ startKbps: 3_600 });
    expect(chooseLaunchStart(aResult({ bandwidthKbps: 50_000 }))).to.deep.equal({ startKbps: 8_000 });
    expect(chooseLaunchStart(aResult({ bandwidthKbps: 100 }))).to.deep.equal({ startKbps: 300 });
  });

  it("starts lower if packets are lost", () => {
    expect(chooseLaunchStart(aResult({ loss: 0.05 }))).to.deep.equal({ startKbps: 1_800 });
  });

  it("uses the relay's figures if the direct path is blocked, and returns nothing without figures", () => {
    const { direct, ...rest } = aResult({ bandwidthKbps: 3_000 });
    expect(chooseLaunchStart({ ...rest, direct: { state: "blocked" }, relay: direct })).to.deep.equal({
      startKbps: 1_800,
    });
    expect(chooseLaunchStart({ ...rest, direct: { state: "blocked" } })).to.deep.equal({});
    expect(chooseLaunchStart(undefined)).to.deep.equal({});
  });
});

describe("isCurrent", () => {
  it("is true on the same network within a day", () => {
    expect(isCurrent(aResult(), now, "wifi")).to.equal(true);
    expect(isCurrent(aResult(), now, "cellular")).to.equal(false);
    expect(isCurrent(aResult(), now + 13 * 3_600_000, "wifi"), "the next day").to.equal(false);
    expect(isCurrent(aResult(), now - 13 * 3_600_000, "wifi"), "of a clock that was set back").to.equal(
      false,
    );
    expect(isCurrent({ ...aResult(), testedAt: "some day" }, now, "wifi")).to.equal(false);
  });
});

describe("readTestResult", () => {
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

  it("returns the result that was stored last", () => {
    const storage = aStorage();
    browserWith(() => storage);
    expect(readTestResult()).to.equal(undefined);
    storeTestResult({ ...result, direct: { state: "absent" } });
    storeTestResult(result);
    expect(readTestResult()).to.deep.equal(result);
  });

  it("returns a result with only the direct path", () => {
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

  it("returns undefined if the stored text is not JSON or has another shape", () => {
    const storage = aStorage();
    browserWith(() => storage);
    storeTestResult(result);
    for (const text of ["{", "", "null", '{"testedAt":1}']) {
      for (const name of storage.values.keys()) storage.setItem(name, text);
      expect(readTestResult(), text).to.equal(undefined);
    }
  });

  it("returns undefined if the browser has no storage or denies access", () => {
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

function aResult(figures: Partial<PathFigures> = {}): TestResult {
  return {
    testedAt: "2030-01-01T00:00:00Z",
    network: "wifi",
    relay: { state: "absent" },
    decoders: [{ codec: "h264", isHardware: null }],
    direct: { state: "works", figures: { roundTripMs: 20, loss: 0, bandwidthKbps: 6_000, ...figures } },
  };
}

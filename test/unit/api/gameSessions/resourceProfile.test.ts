import { expect } from "chai";
import { limits } from "#contracts/limits.ts";
import { resourcesFor } from "#api/gameSessions/resourceProfile.ts";

const { cpuMillicores, memoryMb } = limits.resources;

describe("resourcesFor", () => {
  it("starts with the defaults", () => {
    expect(resourcesFor({ cpuMillicores: null, peakMemoryMb: null })).to.deep.equal({
      cpuMillicores: cpuMillicores.default, memoryBytes: memoryMb.default * 2 ** 20,
    });
  });

  it("returns some more than was used", () => {
    expect(resourcesFor({ cpuMillicores: 800, peakMemoryMb: 1000 })).to.deep.equal({ cpuMillicores: 1000, memoryBytes: 1500 * 2 ** 20 });
  });

  it("stays between floor and ceiling", () => {
    expect(resourcesFor({ cpuMillicores: 0, peakMemoryMb: 0 })).to.deep.equal({ cpuMillicores: cpuMillicores.min, memoryBytes: memoryMb.min * 2 ** 20 });
    expect(resourcesFor({ cpuMillicores: 1e9, peakMemoryMb: 1e9 })).to.deep.equal({ cpuMillicores: cpuMillicores.max, memoryBytes: memoryMb.max * 2 ** 20 });
  });
});

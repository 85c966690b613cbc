import { expect } from "chai";
import { announceAddressAnnotation } from "#contracts/crd/names.ts";
import { limits } from "#contracts/limits.ts";
import { addressesOf, announcedAddresses } from "#operator/nodes/addresses.ts";
import { aNode } from "#test/factories/gameNode.ts";

const dualStack = [
  { type: "InternalIP", address: "10.0.0.7" },
  { type: "InternalIP", address: "fd00::7" },
  { type: "ExternalIP", address: "198.51.100.7" },
  { type: "ExternalIP", address: "2001:db8::7" },
  { type: "Hostname", address: "node1" },
];

describe("addressesOf", () => {
  it("returns all addresses of each kind and the annotation's, without invalid ones", () => {
    const node = aNode("node1", {
      addresses: dualStack,
      annotations: { [announceAddressAnnotation]: "203.0.113.1, 2001:db8::1,play.example," },
    });
    expect(addressesOf(node)).to.deep.equal({
      annotated: ["203.0.113.1", "2001:db8::1"],
      external: ["198.51.100.7", "2001:db8::7"],
      internal: ["10.0.0.7", "fd00::7"],
    });
    expect(addressesOf(aNode("node1", { addresses: [] }))).to.deep.equal({
      annotated: [],
      external: [],
      internal: [],
    });
  });
});

describe("announcedAddresses", () => {
  const all = {
    annotated: ["203.0.113.1"],
    external: ["198.51.100.7", "203.0.113.1"],
    internal: ["10.0.0.7", "fd00::7"],
  };
  it("returns configured, annotated, external and internal addresses in this order, each once", () => {
    expect(announcedAddresses(["192.0.2.9"], all)).to.deep.equal([
      "192.0.2.9",
      "203.0.113.1",
      "198.51.100.7",
      "10.0.0.7",
      "fd00::7",
    ]);
    expect(announcedAddresses([], { annotated: [], external: [], internal: [] })).to.deep.equal([]);
  });
  it("returns at most the number announced to browsers", () => {
    const internal = Array.from({ length: 20 }, (_, index) => `10.0.0.${index}`);
    expect(announcedAddresses([], { annotated: [], external: [], internal })).to.have.length(
      limits.announcedAddresses,
    );
  });
});

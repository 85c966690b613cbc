import { expect } from "chai";
import { readConfig } from "#streamer/connectionTest/config.ts";

const enough = {
  UDP_PORT: "19999",
  NODE_NAME: "node1",
  TICKET_PUBLIC_KEY: "A".repeat(43),
  HOST_IPS: "192.0.2.1,2001:db8::1",
};

describe("the connection test's readConfig", () => {
  it("requires a port, a node, a key and an address, and has defaults for the rest", () => {
    expect(readConfig(enough)).to.deep.equal({
      signalPort: 8_080,
      udpPort: 19_999,
      nodeName: "node1",
      ticketPublicKey: "A".repeat(43),
      addresses: ["192.0.2.1", "2001:db8::1"],
      maxTests: 4,
      maxKbps: 12_000,
      logLevel: "info",
    });
  });

  it("announces the configured addresses instead of the node's", () => {
    expect(readConfig({ ...enough, ANNOUNCE_ADDRESSES: "203.0.113.7" }).addresses).to.deep.equal([
      "203.0.113.7",
    ]);
    expect(readConfig({ ...enough, ANNOUNCE_ADDRESSES: "" }).addresses).to.deep.equal([
      "192.0.2.1",
      "2001:db8::1",
    ]);
  });

  it("throws one error that names every invalid variable", () => {
    const wrong = () => readConfig({ ...enough, UDP_PORT: "0", HOST_IPS: "node1", MAX_TESTS: "1000" });
    for (const name of ["UDP_PORT", "HOST_IPS", "MAX_TESTS"]) expect(wrong, name).to.throw(name);
    expect(() => readConfig({ ...enough, HOST_IPS: "" })).to.throw("Set ANNOUNCE_ADDRESSES or HOST_IPS");
  });
});

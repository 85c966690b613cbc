import { expect } from "chai";
import { readConfig } from "#operator/config.ts";

const required = { STREAMER_IMAGE: "streamer:1", GAME_IMAGE: "game:1" };

describe("readConfig of the operator", () => {
  it("needs the two images only", () => {
    expect(readConfig(required)).to.deep.include({
      sessionsNamespace: "joypod-sessions", gameNodeSelector: { "nvidia.com/gpu.present": "true" }, gpuResourceName: "nvidia.com/gpu",
      softwareSlots: 2, mediaPorts: { first: 20_000, last: 20_999 }, announceAddresses: [], relay: undefined, httpPort: 8081,
    });
  });

  it("takes an empty GPU resource as software rendering, and an empty address as none", () => {
    expect(readConfig({ ...required, GPU_RESOURCE_NAME: "", ANNOUNCE_ADDRESS: "" })).to.deep.include({ gpuResourceName: undefined, announceAddresses: [] });
    expect(readConfig({ ...required, ANNOUNCE_ADDRESS: "203.0.113.1, 2001:db8::1" }).announceAddresses).to.deep.equal(["203.0.113.1", "2001:db8::1"]);
  });

  it("reads a selector of several labels", () => {
    expect(readConfig({ ...required, GAME_NODE_SELECTOR: "a=1, b.c/d=x" }).gameNodeSelector).to.deep.equal({ a: "1", "b.c/d": "x" });
  });

  it("keeps the lease of its own namespace", () => {
    expect(readConfig({ ...required, POD_NAMESPACE: "play", POD_NAME: "operator-1" }).leaderLease).to.include({ namespace: "play", name: "joypod-operator", identity: "operator-1" });
  });

  it("takes a secret of at least 32 bytes for its tickets, or none", () => {
    expect(readConfig(required).ticketSecret).to.equal(undefined);
    expect(readConfig({ ...required, TICKET_SECRET: Buffer.alloc(32, 5).toString("base64") }).ticketSecret).to.deep.equal(Buffer.alloc(32, 5));
    for (const wrong of ["short", Buffer.alloc(31, 5).toString("base64"), `${"A".repeat(60)}!`]) {
      expect(() => readConfig({ ...required, TICKET_SECRET: wrong }), wrong).to.throw("TICKET_SECRET").with.property("message").that.does.not.contain(wrong);
    }
  });

  const internet = { ...required, GAME_NETWORK: "internet", INTERNET_NAMESERVERS: "192.0.2.53, 2001:db8::53", PROBE_IMAGE: "control-plane:1", POD_IP: "10.0.0.1" };

  it("probes the network where games may have it, and nowhere else", () => {
    expect(readConfig(required).networkProbe).to.equal(undefined);
    const { networkProbe, sessionPod } = readConfig(internet);
    expect(networkProbe).to.deep.include({ image: "control-plane:1", target: { host: "10.0.0.1", port: 8081 } });
    expect(sessionPod.nameservers).to.deep.equal(["192.0.2.53", "2001:db8::53"]);
  });

  const wrong: [string, Record<string, string>, RegExp][] = [
    ["no image", { GAME_IMAGE: "game:1" }, /STREAMER_IMAGE/],
    ["a label without value", { ...required, GAME_NODE_SELECTOR: "gpu" }, /write name=value/],
    ["ports the wrong way round", { ...required, MEDIA_PORT_FIRST: "3000", MEDIA_PORT_LAST: "2000" }, /MEDIA_PORT_FIRST is above/],
    ["a name for an address", { ...required, ANNOUNCE_ADDRESS: "play.example" }, /ANNOUNCE_ADDRESS/],
    ["a relay without its secret", { ...required, RELAY_CONTROL: "relay:8086" }, /TURN_SECRET/],
    ["a relay without a port", { ...required, RELAY_CONTROL: "relay", TURN_SECRET: "s".repeat(32) }, /RELAY_CONTROL/],
    ["a relative root", { ...required, NODE_ROOT: "var/lib" }, /NODE_ROOT/],
    ["internet without nameservers", { ...internet, INTERNET_NAMESERVERS: "" }, /INTERNET_NAMESERVERS/],
    ["internet without a probe", { ...internet, PROBE_IMAGE: "", POD_IP: "" }, /PROBE_IMAGE[^]*POD_IP/],
    ["a nameserver by name", { ...internet, INTERNET_NAMESERVERS: "dns.example" }, /INTERNET_NAMESERVERS/],
    ["words for a number", { ...required, SOFTWARE_SLOTS: "two" }, /SOFTWARE_SLOTS/],
  ];
  for (const [what, environment, message] of wrong) it(`refuses ${what}`, () => expect(() => readConfig(environment)).to.throw(message));
});

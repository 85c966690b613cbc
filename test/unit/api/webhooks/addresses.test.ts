import { expect } from "chai";
import { isAllowedAddress, parseNetwork } from "#api/webhooks/addresses.ts";

const none = { allowed: [], denied: [] };

describe("isAllowedAddress", () => {
  it("allows public addresses", () => {
    for (const address of ["1.1.1.1", "8.8.8.8", "192.0.1.1", "2606:4700::1111", "::ffff:8.8.8.8"])
      expect(isAllowedAddress(address, none), address).to.equal(true);
  });

  it("refuses addresses that are not public", () => {
    for (const address of [
      "0.0.0.0",
      "10.0.0.1",
      "100.64.0.1",
      "127.0.0.1",
      "127.255.255.254",
      "169.254.169.254",
      "172.16.0.1",
      "172.31.255.255",
      "192.168.1.1",
      "192.0.0.170",
      "198.18.0.1",
      "203.0.113.7",
      "224.0.0.1",
      "239.255.255.250",
      "240.0.0.1",
      "255.255.255.255",
      "::",
      "::1",
      "::7f00:1",
      "::ffff:127.0.0.1",
      "::ffff:a00:1",
      "::ffff:0:a00:1",
      "64:ff9b::a00:1",
      "64:ff9b:1::a00:1",
      "2001::1",
      "2001:db8::1",
      "2002:a00:1::1",
      "3fff::1",
      "4000::1",
      "fc00::1",
      "fd12:3456::1",
      "fe80::1",
      "fe80::1%eth0",
      "fec0::1",
      "ff02::1",
      "example.com",
      "",
    ])
      expect(isAllowedAddress(address, none), address).to.equal(false);
  });

  it("allows the networks of the site, also in their IPv4-mapped form, and refuses the denied ones", () => {
    const rule = {
      allowed: ["10.1.0.0/16", "127.0.0.1", "fd00::/8"].map(parseNetwork),
      denied: ["8.8.8.0/24", "2606:4700::/32", "10.1.2.3"].map(parseNetwork),
    };
    for (const address of ["10.1.2.3", "127.0.0.1", "::ffff:10.1.0.1", "fd00::1", "8.8.4.4"])
      expect(isAllowedAddress(address, rule), address).to.equal(true);
    for (const address of ["10.2.0.1", "127.0.0.2", "8.8.8.8", "::ffff:8.8.8.8", "2606:4700::1111"])
      expect(isAllowedAddress(address, rule), address).to.equal(false);
  });
});

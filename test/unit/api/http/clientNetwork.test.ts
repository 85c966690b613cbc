import { expect } from "chai";
import { clientNetworkOf, ipPrefixOf } from "#api/http/clientNetwork.ts";

/** Address, what limits count it as, and what the audit trail keeps of it. */
const addresses = [
  ["192.0.2.7", "192.0.2.7", "192.0.2.0/24"],
  ["::ffff:192.0.2.7", "192.0.2.7", "192.0.2.0/24"],
  ["2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64", "2001:db8:1::/48"],
  ["2001:0DB8:0001:0002:ffff::9", "2001:db8:1:2::/64", "2001:db8:1::/48"],
  ["2001:db8::5", "2001:db8:0:0::/64", "2001:db8:0::/48"],
  ["2001::5:6:7:8", "2001:0:0:0::/64", "2001:0:0::/48"],
  ["::1", "0:0:0:0::/64", "0:0:0::/48"],
  ["192.0.2.7:51234", "192.0.2.7", "192.0.2.0/24"],
  ["[::ffff:192.0.2.7]:443", "192.0.2.7", "192.0.2.0/24"],
  ["[2001:db8:1:2::9]:51234", "2001:db8:1:2::/64", "2001:db8:1::/48"],
  ["[2001:db8:1:2::9]", "2001:db8:1:2::/64", "2001:db8:1::/48"],
  ["fe80::1%eth0", "fe80:0:0:0::/64", "fe80:0:0::/48"],
] as const;

describe("client networks", () => {
  for (const [address, network, prefix] of addresses) {
    it(`are ${network} for ${address}, and ${prefix} in the audit trail`, () => {
      expect(clientNetworkOf(address)).to.equal(network);
      expect(ipPrefixOf(address)).to.equal(prefix);
    });
  }
});

import { expect } from "chai";
import { proxyOf } from "#kubectl/cluster/connect.ts";

const proxy = "http://proxy.test:3128";

describe("proxyOf", () => {
  /** Returns whether HTTPS_PROXY applies to the server with these exceptions. */
  const isProxied = (server: string, NO_PROXY = ""): boolean =>
    proxyOf(server, { HTTPS_PROXY: proxy, NO_PROXY }) === proxy;

  it("is read from the variable for the server's scheme, in upper or lower case", () => {
    expect(
      proxyOf("https://play.test:6443", { HTTPS_PROXY: proxy, HTTP_PROXY: "http://other.test" }),
    ).to.equal(proxy);
    expect(proxyOf("https://play.test:6443", { https_proxy: proxy })).to.equal(proxy);
    expect(
      proxyOf("http://play.test:8080", { HTTPS_PROXY: "http://other.test", http_proxy: proxy }),
    ).to.equal(proxy);
    expect(
      proxyOf("https://play.test:6443", { HTTPS_PROXY: "", https_proxy: "proxy.test:3128" }),
      "without a scheme",
    ).to.equal(proxy);
  });

  it("is undefined without a variable and for an invalid address", () => {
    expect(proxyOf("https://play.test:6443", { HTTP_PROXY: proxy })).to.equal(undefined);
    expect(proxyOf("https://play.test:6443", {})).to.equal(undefined);
    expect(proxyOf("play.test", { HTTPS_PROXY: proxy })).to.equal(undefined);
  });

  it("is undefined for loopback addresses", () => {
    for (const host of ["localhost", "127.0.0.1", "127.8.0.1", "[::1]"])
      expect(isProxied(`https://${host}:6443`), host).to.equal(false);
  });

  for (const [server, exceptions] of [
    ["https://play.test:6443", "*"],
    ["https://play.test:6443", "other.test, PLAY.test"],
    ["https://play.test:6443", "test"],
    ["https://play.test:6443", ".test"],
    ["https://play.test:6443", "*.test"],
    ["https://play.test:6443", "play.test:6443"],
    ["https://play.test", "play.test:443"],
    ["https://10.1.2.3:6443", "10.1.2.3"],
    ["https://10.1.2.3:6443", "10.1.2.3:6443"],
    ["https://10.1.2.3:6443", "10.0.0.0/8"],
    ["https://[2001:db8::5]:6443", "2001:db8:0::5"],
    ["https://[2001:db8::5]:6443", "[2001:db8::5]:6443"],
    ["https://[2001:db8::5]:6443", "2001:db8::/32"],
  ] as const) {
    it(`is undefined for ${server} with NO_PROXY=${exceptions}`, () => {
      expect(isProxied(server, exceptions)).to.equal(false);
    });
  }

  for (const [server, others] of [
    ["https://play.test:6443", "lay.test"],
    ["https://play.test:6443", ".play.test"],
    ["https://play.test:6443", "*.play.test"],
    ["https://play.test:6443", "play.test:443"],
    ["https://10.1.2.3:6443", "10.1.2.4,11.0.0.0/8,10.0.0.0/99,10.0.0.0/"],
    ["https://[2001:db8::5]:6443", "2001:db9::/32,::1"],
  ] as const) {
    it(`is used for ${server} with NO_PROXY=${others}`, () => {
      expect(isProxied(server, others)).to.equal(true);
    });
  }
});

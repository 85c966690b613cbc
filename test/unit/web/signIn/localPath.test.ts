import { expect } from "chai";
import { localPath } from "#web/signIn/localPath.ts";

describe("localPath", () => {
  const origin = "https://joypod.example";

  it("returns the path of an address on this site", () => {
    expect(localPath("/games/x?y=1#z", origin)).to.equal("/games/x?y=1#z");
    expect(localPath("https://joypod.example/play/1", origin)).to.equal("/play/1");
  });

  for (const address of [
    null,
    "https://evil.example/",
    "//evil.example",
    "/\\evil.example",
    "https://joypod.example//evil.example",
    "javascript:alert(1)",
    "http://[",
    "/signin?x=1",
    "/api/auth/signout",
  ]) {
    it(`returns the catalogue's path for ${address}`, () => {
      expect(localPath(address, origin)).to.equal("/");
    });
  }
});

import { expect } from "chai";
import { toLocalPath } from "#web/signIn/localPath.ts";

describe("toLocalPath", () => {
  const origin = "https://joypod.example";

  it("returns the path of an address on this site", () => {
    expect(toLocalPath("/games/x?y=1#z", origin)).to.equal("/games/x?y=1#z");
    expect(toLocalPath("https://joypod.example/play/1", origin)).to.equal("/play/1");
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
      expect(toLocalPath(address, origin)).to.equal("/");
    });
  }
});

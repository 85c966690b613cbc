import { expect } from "chai";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { isExposed, readConfigFile, toAddress, toKey, toSlug } from "#publish/config.ts";
import { PublishError } from "#publish/publishError.ts";
import { stateFolder } from "#publish/upload/uploadState.ts";

describe("settings of joypod-publish", () => {
  let work: string;

  beforeEach(() => {
    work = mkdtempSync(join(tmpdir(), "joypod-publish-test-"));
    mkdirSync(join(work, "game"));
  });
  afterEach(() => rmSync(work, { recursive: true }));

  const writeConfig = (content: string): void => writeFileSync(join(work, "joypod.json"), content);

  it("are read from joypod.json next to the folder", () => {
    writeConfig('{"slug": "my-game", "title": "My Game", "url": "https://joypod.example"}');
    const config = readConfigFile(undefined, join(work, "game"));
    expect(config).to.deep.equal({ slug: "my-game", title: "My Game", url: "https://joypod.example" });
    expect(toSlug(undefined, config)).to.equal("my-game");
    expect(toAddress(undefined, {}, config).href).to.equal("https://joypod.example/");
    expect(readConfigFile(undefined, work)).to.deep.equal({});
  });

  it("name what is wrong in joypod.json", () => {
    writeConfig('{"titel": "My Game", "slug": "My Game"}');
    const read = () => readConfigFile(undefined, join(work, "game"));
    expect(read).to.throw(PublishError, /joypod\.json is not valid.*slug.*titel/);
    writeConfig("{");
    expect(read).to.throw(PublishError, "joypod.json cannot be read");
    expect(() => readConfigFile(join(work, "other.json"), undefined)).to.throw(PublishError, "ENOENT");
  });

  it("take the option before the variable, and the variable before the file", () => {
    const config = { slug: "of-file", url: "https://file.example" };
    const variables = { JOYPOD_URL: "https://variable.example/joypod" };
    expect(toSlug("of-option", config)).to.equal("of-option");
    expect(toAddress("http://localhost:8080", variables, config).href).to.equal("http://localhost:8080/");
    expect(toAddress(undefined, variables, config).href).to.equal("https://variable.example/joypod");
  });

  it("refuse addresses and slugs that are none", () => {
    for (const text of ["joypod.example", "ftp://joypod.example", "https://user:password@joypod.example"])
      expect(() => toAddress(text, {}, {}), text).to.throw(PublishError);
    expect(() => toAddress(undefined, {}, {})).to.throw(PublishError, "JOYPOD_URL");
    expect(() => toSlug(undefined, {})).to.throw(PublishError, "--game");
    expect(() => toSlug("../other", {})).to.throw(PublishError);
  });

  it("take the key only from the environment, and never show it", () => {
    expect(toKey({ JOYPOD_API_KEY: " jp_secret\n" })).to.equal("jp_secret");
    expect(() => toKey({})).to.throw(PublishError, "JOYPOD_API_KEY");
    expect(() => toKey({ JOYPOD_API_KEY: "jp secret" })).to.throw(PublishError, /^(?!.*secret)/);
  });

  it("say whether others can read the key on its way", () => {
    const addresses = [
      "https://joypod.example",
      "http://127.0.0.1:8080",
      "http://[::1]:8080",
      "http://10.0.0.1",
    ];
    expect(addresses.map((text) => isExposed(new URL(text)))).to.deep.equal([false, false, false, true]);
  });

  it("keep state where the system wants it", () => {
    expect(stateFolder("linux", { XDG_STATE_HOME: "/state" })).to.equal("/state/joypod-publish");
    expect(stateFolder("win32", { LOCALAPPDATA: "C:\\Local" }))
      .to.include("Local")
      .and.include("joypod-publish");
    expect(stateFolder("darwin", {})).to.match(/Library\/Application Support\/joypod-publish$/);
    expect(stateFolder("linux", {})).to.match(/\.local\/state\/joypod-publish$/);
  });
});

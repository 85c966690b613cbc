import { expect } from "chai";
import { readdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Readable } from "node:stream";
import { writeWhole } from "#api/cli/saveCommands.ts";
import { temporaryFolder } from "#test/support/processes/temporaryFolder.ts";

describe("writing an export", () => {
  let folder: string;
  let file: string;

  beforeEach(() => {
    folder = temporaryFolder("export");
    file = join(folder, "save.tar.gz");
  });

  function cut(): Readable {
    return Readable.from(
      (function* () {
        yield Buffer.from("some of it");
        throw new Error("The bytes are others.");
      })(),
    );
  }

  it("leaves the file unchanged if the stream fails", async () => {
    expect(await writeWhole(cut(), file).catch(String)).to.contain("The bytes are others.");
    expect(readdirSync(folder)).to.be.empty;
    writeFileSync(file, "before");
    expect(await writeWhole(cut(), file).catch(String)).to.contain("The bytes are others.");
    expect(readdirSync(folder)).to.deep.equal(["save.tar.gz"]);
    expect(readFileSync(file, "utf8")).to.equal("before");
  });

  it("replaces the file when the stream is complete, also the target of a link", async () => {
    writeFileSync(file, "before");
    const link = join(folder, "link");
    symlinkSync(file, link);
    await writeWhole(Readable.from([Buffer.from("after")]), link);
    expect(readFileSync(file, "utf8")).to.equal("after");
    expect(readdirSync(folder).toSorted()).to.deep.equal(["link", "save.tar.gz"]);
  });

  it("writes to a device", async () => {
    await writeWhole(Readable.from([Buffer.from("nothing")]), "/dev/null");
    expect(readFileSync("/dev/null", "utf8")).to.equal("");
  });
});

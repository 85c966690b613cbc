import { expect } from "chai";
import { spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fingerprintOf, UploadState } from "#publish/upload/uploadState.ts";

const server = new URL("https://joypod.example");

describe("UploadState", () => {
  let folder: string;

  beforeEach(() => (folder = mkdtempSync(join(tmpdir(), "joypod-publish-state-"))));
  afterEach(() => rmSync(folder, { recursive: true }));

  const open = (path = folder): Promise<UploadState> => UploadState.open(path, server, "my-game", new Date());

  /** Writes the lock of a process. */
  async function lockAs(pid: number | undefined): Promise<void> {
    const state = await open();
    const [name = ""] = readdirSync(folder);
    await state.close();
    expect(readdirSync(folder)).to.deep.equal([]);
    writeFileSync(join(folder, name), String(pid));
  }

  it("is open in one process only", async () => {
    await lockAs(process.ppid);
    const error = await open().catch((thrown: unknown) => thrown);
    expect(error).to.include({
      code: "publish_in_progress",
      message: "Another joypod-publish publishes this game.",
    });
    expect(readdirSync(folder)).to.have.length(1);
  });

  it("replaces the lock of a process that has ended", async () => {
    await lockAs(spawnSync(process.execPath, ["--version"]).pid);
    await (await open()).close();
    expect(readdirSync(folder)).to.deep.equal([]);
  });

  it("uses a temporary folder if its own cannot be made, and removes it", async () => {
    const file = join(folder, "file");
    writeFileSync(file, "");
    const state = await open(join(file, "state"));
    const temporary = dirname(state.archiveFile);
    expect([state.isTemporary, existsSync(temporary)]).to.deep.equal([true, true]);
    await state.keepArchive({ file: state.archiveFile, size: 1, sha256: "0f", unpackedBytes: 1 }, "print");
    await state.close();
    expect(existsSync(temporary)).to.equal(false);
  });
});

describe("fingerprintOf", () => {
  it("changes with a file that keeps its size and time of modification", () => {
    const fingerprint = (ctimeMs: number): string => {
      const file = { path: "data", location: "/game/data", isDirectory: false, size: 4, mtimeMs: 1000 };
      const entries = [{ ...file, ctimeMs, isMarkedExecutable: false }];
      return fingerprintOf({ entries, leftOut: [], copiedLinks: [] }, []);
    };
    expect(fingerprint(1)).to.equal(fingerprint(1)).and.not.equal(fingerprint(2));
  });
});

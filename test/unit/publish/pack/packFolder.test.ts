import { expect } from "chai";
import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { gunzipSync } from "node:zlib";
import { unpackTar } from "modern-tar";
import { createArchiveReader } from "#archive/archiveReader.ts";
import { gameArchiveRules } from "#archive/archiveRules.ts";
import { checkFolder, checkRatio } from "#publish/pack/checkFolder.ts";
import { listFolder, rootNames, type FolderListing } from "#publish/pack/listFolder.ts";
import { packArchive, type PackedArchive } from "#publish/pack/packArchive.ts";
import { PublishError } from "#publish/publishError.ts";

const layout = { launcher: "run.sh", engineDir: "engine" };

describe("packing a folder", () => {
  let work: string;
  let folder: string;

  beforeEach(() => {
    work = realpathSync(mkdtempSync(join(tmpdir(), "joypod-publish-test-")));
    folder = join(work, "game");
    write("run.sh", "#!/bin/sh\nexec engine/play\n");
    write("engine/play", "\u007fELF…");
    write("engine/data.txt", "data");
  });
  afterEach(() => rmSync(work, { recursive: true }));

  function write(path: string, content: string | Buffer, mode = 0o644): void {
    const file = join(folder, path);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, content);
    chmodSync(file, mode);
  }

  const list = (platform: NodeJS.Platform = "linux"): FolderListing => listFolder(folder, platform);

  async function pack({
    platform = "linux",
    keepTimes = false,
  }: { platform?: NodeJS.Platform; keepTimes?: boolean } = {}): Promise<PackedArchive> {
    return packArchive(list(platform), join(work, "game.tar.gz"), {
      launcher: layout.launcher,
      keepTimes,
      onProgress: () => undefined,
      signal: new AbortController().signal,
    });
  }

  async function headers() {
    const entries = await unpackTar(gunzipSync(readFileSync(join(work, "game.tar.gz"))));
    return entries.map(({ header }) => header);
  }

  async function modes(): Promise<Record<string, number | undefined>> {
    return Object.fromEntries((await headers()).map(({ name, mode }) => [name, mode]));
  }

  function problemsOf(work: () => unknown): readonly string[] {
    try {
      work();
    } catch (error) {
      if (error instanceof PublishError) return error.details;
      throw error;
    }
    throw new Error("It was accepted.");
  }

  it("writes what the server's own reader accepts", async () => {
    write("engine/empty", "");
    write(`engine/${"long/".repeat(60)}name.txt`, "deep");
    write("engine/Ünïcode.txt".normalize("NFC"), "name");
    write("engine/large.bin", Buffer.alloc(3 * 2 ** 20 + 7, "large"));
    mkdirSync(join(folder, "engine/nothing"));
    const { size, unpackedBytes } = await pack();
    const files: string[] = [];
    const reader = createArchiveReader(
      gameArchiveRules(layout),
      { entry: ({ path }) => files.push(path) },
      size,
    );
    const tar = gunzipSync(readFileSync(join(work, "game.tar.gz")));
    reader.write(tar, size);
    expect(reader.finish()).to.deep.include({ entries: 69 });
    expect(tar).to.have.length(unpackedBytes);
    expect(files).to.include("engine/empty").and.include("engine/nothing").and.include("engine/Ünïcode.txt");
  });

  it("gives the same digest for the same files, whatever their times and the order of their creation", async () => {
    const { sha256 } = await pack();
    rmSync(folder, { recursive: true });
    write("engine/data.txt", "data");
    write("engine/play", "\u007fELF…");
    write("run.sh", "#!/bin/sh\nexec engine/play\n");
    utimesSync(join(folder, "run.sh"), 1_000_000, 1_000_000);
    expect((await pack()).sha256).to.equal(sha256);
    write("engine/data.txt", "date");
    expect((await pack()).sha256).not.to.equal(sha256);
  });

  it("says nothing about the machine", async () => {
    await pack();
    const gzip = readFileSync(join(work, "game.tar.gz"));
    expect([...gzip.subarray(4, 8), gzip[9]]).to.deep.equal([0, 0, 0, 0, 255]);
    for (const header of await headers()) expect(header).to.include({ uid: 0, gid: 0, uname: "", gname: "" });
  });

  it("keeps the files' times if asked to", async () => {
    utimesSync(join(folder, "run.sh"), 1_600_000_000.5, 1_600_000_000.5);
    await pack();
    expect((await headers()).map(({ mtime }) => mtime?.getUTCFullYear())).to.deep.equal([
      1980, 1980, 1980, 1980,
    ]);
    await pack({ keepTimes: true });
    const launcher = (await headers()).find(({ name }) => name === "run.sh");
    expect(launcher?.mtime?.getTime()).to.equal(1_600_000_000_000);
  });

  it("marks programs, scripts and the launcher as executable on every system", async () => {
    write("run.sh", "exec engine/play\n");
    write("engine/tool.py", "#!/usr/bin/env python3\n");
    write("engine/marked", "no program", 0o755);
    await pack({ platform: "win32" });
    expect(await modes()).to.deep.equal({
      "engine/": 0o755,
      "engine/data.txt": 0o644,
      "engine/marked": 0o644,
      "engine/play": 0o755,
      "engine/tool.py": 0o755,
      "run.sh": 0o755,
    });
    await pack({ platform: "linux" });
    expect(await modes()).to.include({ "engine/marked": 0o755, "engine/data.txt": 0o644 });
  });

  it("leaves out what file managers and version control make", () => {
    for (const name of [".DS_Store", "engine/._play", "engine/Thumbs.db", "__MACOSX/x", ".git/HEAD"])
      write(name, "junk");
    const { entries, leftOut } = list();
    expect(entries.map(({ path }) => path)).to.deep.equal([
      "engine",
      "engine/data.txt",
      "engine/play",
      "run.sh",
    ]);
    expect(leftOut).to.have.members([".DS_Store", ".git", "__MACOSX", "engine/._play", "engine/Thumbs.db"]);
  });

  it("packs links that stay inside the folder as copies, and names all others", async () => {
    symlinkSync("play", join(folder, "engine/play.so"));
    symlinkSync("engine", join(folder, "other"));
    expect(list().copiedLinks).to.deep.equal(["engine/play.so", "other", "other/play.so"]);
    await pack();
    expect(await modes()).to.include({ "engine/play.so": 0o755, "other/data.txt": 0o644 });
    symlinkSync("/etc/passwd", join(folder, "engine/outside"));
    symlinkSync("missing", join(folder, "engine/broken"));
    symlinkSync("..", join(folder, "engine/up"));
    symlinkSync("self", join(folder, "engine/self"));
    expect(problemsOf(list)).to.deep.equal([
      "engine/broken is a symbolic link to missing, which does not exist",
      "engine/outside is a symbolic link to /etc/passwd, which is outside the folder",
      "engine/self is a symbolic link to self, which leads back to itself",
      "engine/up is a symbolic link to .., which contains the link",
      // The same links in the copy of the folder.
      "other/broken is a symbolic link to missing, which does not exist",
      "other/outside is a symbolic link to /etc/passwd, which is outside the folder",
      "other/self is a symbolic link to self, which leads back to itself",
      "other/up is a symbolic link to .., which contains the link",
    ]);
  });

  it("composes decomposed names on macOS, and refuses them elsewhere", () => {
    write("engine/u\u0308.txt", "decomposed");
    const paths = list("darwin").entries.map(({ path }) => path);
    expect(paths).to.include("engine/\u00fc.txt");
    checkFolder(list("darwin"), layout);
    expect(problemsOf(() => checkFolder(list("linux"), layout))).to.deep.equal([
      '"engine/u\u0308.txt" has a name that is not in Unicode normal form C',
    ]);
  });

  it("lists everything that the server would refuse, before the upload", () => {
    write("engine/Data.txt", "differs by case");
    write("engine/back\\slash", "name");
    expect(problemsOf(() => checkFolder(list(), { launcher: "start.sh", engineDir: "bin" }))).to.deep.equal([
      '"engine/back\\\\slash" has a backslash in its name',
      '"engine/data.txt" differs only by case from "Data.txt"',
      'The folder has no file "start.sh" with content at its root (the launcher)',
      'The folder has no directory "bin" at its root (the engine directory)',
      "The root of the folder has: engine, run.sh",
    ]);
  });

  it("refuses a launcher that an editor on Windows made useless", () => {
    write("run.sh", "#!/bin/sh\r\nexec engine/play\r\n");
    expect(() => checkFolder(list(), layout)).to.throw(PublishError, "Windows line endings");
    write("run.sh", "\ufeff#!/bin/sh\n");
    expect(() => checkFolder(list(), layout)).to.throw(PublishError, "byte order mark");
  });

  it("refuses what compresses too well", () => {
    checkRatio(layout, 1000, 60 * 2 ** 20);
    expect(() => checkRatio(layout, 1000, 70 * 2 ** 20)).to.throw(PublishError, "200 times");
  });

  it("fails when a file changes meanwhile, and leaves nothing behind", async () => {
    const listing = list();
    write("engine/data.txt", "more data");
    const packing = packArchive(listing, join(work, "game.tar.gz"), {
      launcher: layout.launcher,
      keepTimes: false,
      onProgress: () => undefined,
      signal: new AbortController().signal,
    });
    const error: unknown = await packing.catch((thrown: unknown) => thrown);
    expect(error).to.be.instanceOf(PublishError).and.include({ code: "changed_file" });
    expect(() => readFileSync(join(work, "game.tar.gz"))).to.throw("ENOENT");
  });

  it("finds the names that may be launcher and engine directory", () => {
    write("debug.sh", "#!/bin/sh\n");
    write("readme.txt", "Hello");
    expect(rootNames(list())).to.deep.equal({ launchers: ["debug.sh", "run.sh"], engineDirs: ["engine"] });
  });

  it("refuses a folder that does not exist, and a file", () => {
    expect(() => listFolder(join(work, "missing"), "linux")).to.throw(PublishError, "does not exist");
    expect(() => listFolder(join(folder, "run.sh"), "linux")).to.throw(PublishError, "is not a folder");
  });
});

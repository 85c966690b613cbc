import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { chmodSync, lstatSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Readable } from "node:stream";
import { gzipSync } from "node:zlib";
import { expect } from "chai";
import fc from "fast-check";
import { ArchiveRefused, gameArchiveRules } from "#archive/archiveRules.ts";
import { createArchiveReader } from "#archive/archiveReader.ts";
import { anEditedTar, badEntries, editedEntries, goodEntries } from "#test/factories/tarArbitrary.ts";
import { aTar } from "#test/factories/tarArchive.ts";
import { ArchiveInspection } from "#api/archives/archiveInspection.ts";
import { unpackArchive } from "#node-agent/unpack/unpack.ts";

const game = { launcher: "play.sh", engineDir: "engine" };
const rules = gameArchiveRules(game);
/** Content by path; null for a directory. */
type Tree = Map<string, string | null>;

/**
 * A second opinion on everything that we accept: a reader that sees another name than we do could be led
 * astray by it.
 */
describe("the archive reader and GNU tar", function () {
  this.timeout(60_000);
  const sandbox = mkdtempSync(join(tmpdir(), "joypod-tar-"));
  let folders = 0;
  after(() => rmSync(sandbox, { recursive: true }));

  it("find the same names, sizes and contents in every accepted archive, and nothing outside the target", async () => {
    let accepted = 0;
    let refused = 0;
    await fc.assert(
      fc.asyncProperty(editedEntries, fc.integer({ min: 1, max: 3000 }), async (archive, by) => {
        const tar = anEditedTar(archive);
        const ours = read(tar, by);
        const packed = gzipSync(tar, { level: 1 });
        if (ours instanceof ArchiveRefused) {
          refused += 1;
          expect(await inspect(packed)).to.equal(ours.message);
          return;
        }
        accepted += 1;
        expect(await inspect(packed)).to.be.undefined;
        const theirs = unpackByGnuTar(tar);
        expect(
          theirs.names,
          `${theirs.complaint}\nGNU tar: ${theirs.names.join("  ")}\nours:    ${ours.names.join("  ")}\n`,
        ).to.deep.equal(ours.names);
        expect(theirs.tree).to.deep.equal(withFolders(ours.tree));
        if (accepted % 4 === 0) expect(await unpackByAgent(packed)).to.deep.equal(theirs.tree);
      }),
      { numRuns: 400, seed: 4_711, endOnFailure: true },
    );
    expect(accepted, "accepted").to.be.above(100);
    expect(refused, "refused").to.be.above(100);
  });

  it("read a game in every encoding", () => {
    fc.assert(
      fc.property(goodEntries, ({ tree, entries }) => {
        const ours = read(aTar(entries.flat()), 1 << 20);
        if (ours instanceof ArchiveRefused) throw ours;
        expect(ours.tree).to.deep.equal(
          new Map(tree.map(({ path, body }) => [path, body === undefined ? null : digestOf(body)])),
        );
      }),
      { numRuns: 400, seed: 4_712 },
    );
  });

  it("find a forbidden entry at any position, which the reader rejects by name", () => {
    fc.assert(
      fc.property(goodEntries, badEntries, fc.nat(8), ({ entries }, bad, place) => {
        const at = Math.max(2, place % (entries.length + 1));
        const error = read(
          aTar([...entries.slice(0, at), bad.entries, ...entries.slice(at)].flat()),
          1 << 20,
        );
        expect(error).to.be.instanceOf(ArchiveRefused);
        expect((error as ArchiveRefused).entry).to.equal(bad.name);
      }),
      { numRuns: 600, seed: 4_713 },
    );
  });

  function unpackByGnuTar(tar: Buffer): { names: string[]; tree: Tree; complaint: string } {
    const outer = join(sandbox, `gnu${folders++}`);
    const target = join(outer, "deep", "down", "target");
    mkdirSync(target, { recursive: true });
    const { stdout, stderr } = spawnSync(
      "tar",
      ["-C", target, "--no-same-owner", "--no-same-permissions", "--quoting-style=literal", "-xvf", "-"],
      { input: tar },
    );
    const tree = readTree(outer);
    const [inside, outside] = [new Map<string, string | null>(), [] as string[]];
    for (const [path, content] of tree) {
      if (path.startsWith("deep/down/target/")) inside.set(path.slice("deep/down/target/".length), content);
      else if (!["deep", "deep/down", "deep/down/target"].includes(path)) outside.push(path);
    }
    expect(outside, stderr.toString()).to.be.empty;
    rmSync(outer, { recursive: true });
    return {
      names: stdout
        .toString()
        .split("\n")
        .slice(0, -1)
        .map(plain)
        .filter((name) => name !== ""),
      tree: inside,
      complaint: stderr.toString(),
    };
  }

  async function unpackByAgent(packed: Buffer): Promise<Tree> {
    const directory = join(sandbox, `agent${folders++}`);
    mkdirSync(directory);
    await unpackArchive({
      source: Readable.from([packed]),
      sha256: digestOf(packed),
      directory,
      rules,
      style: { fileMode: 0o600, executableMode: 0o700, directoryMode: 0o700 },
    });
    const tree = readTree(directory);
    rmSync(directory, { recursive: true });
    return tree;
  }
});

/**
 * What the reader lets through when it gets `by` bytes at a time, or its error message; any other error is a
 * fault.
 */
function read(tar: Buffer, by: number): { names: string[]; tree: Tree } | ArchiveRefused {
  const tree: Tree = new Map();
  let current = { path: "", hash: createHash("sha256") };
  const reader = createArchiveReader(rules, {
    entry({ path, isDirectory }) {
      current = { path, hash: createHash("sha256") };
      tree.set(path, isDirectory ? null : "");
    },
    data: (bytes) => void current.hash.update(bytes),
    endEntry() {
      if (tree.get(current.path) !== null) tree.set(current.path, current.hash.digest("hex"));
    },
  });
  try {
    for (let at = 0; at < tar.length; at += by) reader.write(tar.subarray(at, at + by), tar.length);
    reader.finish();
    return { names: [...tree.keys()], tree };
  } catch (error) {
    if (error instanceof ArchiveRefused) return error;
    throw error;
  }
}

/** What the API tells of the packed archive: undefined when it takes it. */
async function inspect(packed: Buffer): Promise<string | undefined> {
  const inspection = new ArchiveInspection(gameArchiveRules(game));
  try {
    await inspection.write(packed);
    await inspection.finish();
    return undefined;
  } catch (error) {
    if (error instanceof ArchiveRefused) return error.message;
    throw error;
  } finally {
    inspection.close();
  }
}

/** The folders on the way to each entry, which an archive need not list. */
function withFolders(tree: Tree): Tree {
  const whole: Tree = new Map(tree);
  for (const path of tree.keys()) {
    for (let slash = path.indexOf("/"); slash > 0; slash = path.indexOf("/", slash + 1))
      whole.set(path.slice(0, slash), null);
  }
  return whole;
}

function readTree(root: string, folder = "", tree: Tree = new Map()): Tree {
  for (const name of readdirSync(join(root, folder))) {
    const path = folder === "" ? name : `${folder}/${name}`;
    const status = lstatSync(join(root, path));
    if (status.isDirectory()) {
      chmodSync(join(root, path), 0o700);
      tree.set(path, null);
      readTree(root, path, tree);
    } else {
      if (!status.isFile()) throw new Error(`${path} is neither a file nor a directory.`);
      chmodSync(join(root, path), 0o600);
      tree.set(path, digestOf(readFileSync(join(root, path))));
    }
  }
  return tree;
}

function plain(name: string): string {
  return name.replace(/^\.(?:\/|$)/, "").replace(/\/$/, "");
}

function digestOf(bytes: Uint8Array | string): string {
  return createHash("sha256").update(bytes).digest("hex");
}

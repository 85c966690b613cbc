import { execFileSync, spawn, type ChildProcess } from "node:child_process";
import { createHash } from "node:crypto";
import { chmodSync, chownSync, existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gunzipSync } from "node:zlib";
import { createArchiveReader } from "#contracts/archive/archiveReader.ts";
import { saveArchiveRules } from "#contracts/archive/archiveRules.ts";
import { packedArchiveName, sessionUserId, spoolNames } from "#contracts/nodeLayout.ts";
import { RestoreReport, SpoolManifest, type PackedSave } from "#contracts/spool.ts";
import { eventually } from "./eventually.ts";
import { readableProgram, type ReadableProgram } from "./readableProgram.ts";

export const packerUid = "8f14e45f-ceea-4e7a-9d3b-1c2d3e4f5a6b";

export interface PackerStageOptions {
  /** Mounts a file system in memory of so many MiB as the save volume. */
  volumeMb?: number;
  /** The same for the packer's folder in the spool. */
  packedMb?: number;
  /** Of the packer; a second lets it look three times a second. */
  spoolSeconds?: number;
}

/** A save volume and a spool as a session has them, and lives of the packer between them, as the session's user. */
export interface PackerStage {
  volume: string;
  saves: string;
  spool: string;
  /** Path of one of the spool's files. */
  spooled(name: string): string;
  /** Orders this save, or a new playthrough. */
  order(archive?: Buffer, claims?: { sha256?: string; bytes?: number; uid?: string }): void;
  start(): PackerLife;
  /** Orders a new playthrough, starts the packer and waits for the directory. */
  play(): Promise<PackerLife>;
  report(): RestoreReport | undefined;
  manifest(): SpoolManifest | undefined;
  /** The newest pack that fulfils this. */
  packed(isWanted?: (save: PackedSave) => boolean): Promise<PackedSave>;
  /** The content of a pack, as the strict reader takes it: text of each file, undefined for directories. */
  content(save: PackedSave): Record<string, string | undefined>;
  /** Runs a shell script as the session's user, where the saves are. */
  game(script: string): void;
  remove(): void;
}

/** One process of the packer. */
export interface PackerLife {
  process: ChildProcess;
  messages: string[];
  /** Lines of its log. */
  log(): string[];
  /** Tells it that the game is over and waits for its end; returns what it exited with. */
  finish(): Promise<number | null>;
  exited: Promise<number | null>;
}

/** Makes a stage. */
export function createPackerStage({ volumeMb, packedMb, spoolSeconds = 1 }: PackerStageOptions = {}): PackerStage {
  const root = mkdtempSync(join(tmpdir(), "joypod-packer-"));
  chmodSync(root, 0o755);
  const [volume, spool] = [join(root, "session"), join(root, "spool")];
  const spooled = (name: string): string => join(spool, name);
  const lives: PackerLife[] = [];
  const mounts: string[] = [];
  for (const folder of [volume, spool, spooled(spoolNames.packed)]) mkdirSync(folder, { mode: 0o755 });
  if (volumeMb !== undefined) mount(volume, volumeMb);
  if (packedMb !== undefined) mount(spooled(spoolNames.packed), packedMb);
  for (const folder of [volume, spooled(spoolNames.packed)]) chownSync(folder, sessionUserId, sessionUserId);

  function mount(folder: string, megabytes: number): void {
    execFileSync("mount", ["-t", "tmpfs", "-o", `size=${megabytes}m`, "tmpfs", folder]);
    mounts.push(folder);
  }

  const stage: PackerStage = {
    volume, spool, spooled,
    saves: join(volume, "save"),
    order(archive, claims = {}) {
      const { sha256 = archive && createHash("sha256").update(archive).digest("hex"), bytes = archive?.length, uid = packerUid } = claims;
      if (archive) writeFileSync(spooled(spoolNames.orderedArchive), archive);
      writeFileSync(spooled("order.new"), JSON.stringify({ version: 1, uid, ...archive && { save: { sha256, bytes } } }));
      renameSync(spooled("order.new"), spooled(spoolNames.order));
    },
    start() {
      const life = startPackerLife({ SAVE_VOLUME: volume, SPOOL_DIR: spool, SESSION_UID: packerUid, SPOOL_SECONDS: String(spoolSeconds) });
      lives.push(life);
      return life;
    },
    async play() {
      stage.order();
      const life = stage.start();
      await eventually(() => existsSync(stage.saves), { what: `the save directory; ${life.log().join()}` });
      return life;
    },
    report: () => parsed(spooled(spoolNames.report), (value) => RestoreReport.parse(value)),
    manifest: () => parsed(spooled(spoolNames.manifest), (value) => SpoolManifest.parse(value)),
    packed: (isWanted = () => true) => eventually(() => {
      const save = stage.manifest()?.save;
      return save && isWanted(save) && save;
    }, { what: "a pack", timeoutMs: 20_000 }),
    content: (save) => contentOf(readFileSync(spooled(`packed/${packedArchiveName(save)}`)), save),
    game: (script) => void execFileSync("bash", ["-euc", script], { cwd: stage.saves, uid: sessionUserId, gid: sessionUserId, stdio: ["ignore", "ignore", "inherit"] }),
    remove() {
      for (const { process } of lives) process.kill("SIGKILL");
      for (const folder of mounts) execFileSync("umount", ["--lazy", folder]);
      rmSync(root, { recursive: true, force: true });
    },
  };
  return stage;
}

/** Names of packs and drafts that lie in the spool. */
export function archivesIn(stage: PackerStage): string[] {
  return readdirSync(stage.spooled(spoolNames.packed)).filter((name) => name.startsWith("save-"));
}

let packer: ReadableProgram | undefined;

/** Starts a life of the packer as the session's user, with this environment. */
export function startPackerLife(environment: Record<string, string>): PackerLife {
  packer ??= readableProgram("packer/src/main.ts", sessionUserId);
  const child = spawn(packer.node, [packer.program], {
    uid: sessionUserId, gid: sessionUserId, env: environment, stdio: ["ignore", "pipe", "pipe", "ipc"],
  });
  let output = "";
  for (const stream of [child.stdout, child.stderr]) stream?.on("data", (text: Buffer) => output += text.toString());
  const messages: string[] = [];
  child.on("message", ({ t }: { t: string }) => messages.push(t));
  const exited = new Promise<number | null>((resolve) => child.on("exit", resolve));
  return {
    process: child, messages, exited,
    log: () => output.split("\n").filter((line) => line !== ""),
    finish() {
      child.send({ t: "ended" });
      return exited;
    },
  };
}

function parsed<T>(path: string, parse: (value: unknown) => T): T | undefined {
  return existsSync(path) ? parse(JSON.parse(readFileSync(path, "utf8"))) : undefined;
}

/** Reads a pack as the node agent does; throws when it is not as its manifest says. */
function contentOf(archive: Buffer, { sha256, bytes, entries }: PackedSave): Record<string, string | undefined> {
  const found: Record<string, string | undefined> = {};
  let current = "";
  const reader = createArchiveReader(saveArchiveRules, {
    entry({ path, isDirectory }) {
      current = path;
      found[path] = isDirectory ? undefined : "";
    },
    data: (piece) => found[current] = (found[current] ?? "") + piece.toString("latin1"),
  });
  reader.write(gunzipSync(archive), archive.length);
  const summary = reader.finish();
  const actual = { sha256: createHash("sha256").update(archive).digest("hex"), bytes: archive.length, entries: summary.entries };
  if (JSON.stringify(actual) !== JSON.stringify({ sha256, bytes, entries })) throw new Error(`The manifest says otherwise than ${JSON.stringify(actual)}.`);
  return found;
}

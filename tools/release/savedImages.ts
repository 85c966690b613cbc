import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { createReadStream, createWriteStream } from "node:fs";
import { mkdir, mkdtemp, open, readFile, readdir, rename, rm, stat, utimes, writeFile } from "node:fs/promises";
import { join, relative } from "node:path";
import { pipeline } from "node:stream/promises";
import { promisify } from "node:util";
import { createGzip } from "node:zlib";
import { z } from "zod";

const run = promisify(execFile);
const diffId = z.string().regex(/^sha256:[0-9a-f]{64}$/);
const Saved = z.tuple([z.object({ Config: z.string(), Layers: z.array(z.string()) })]);
const ImageConfig = z.looseObject({ rootfs: z.object({ diff_ids: z.array(diffId) }) });
const Layer = z.object({ digest: diffId });
const Kept = z.object({ config: ImageConfig, layers: z.array(Layer), packages: z.string(), strangers: z.array(z.string()) });

/** An image as the release has it: its configuration, its compressed layers, Debian's list of its packages. */
export type SavedImage = z.infer<typeof Kept>;

/** ELF's numbers of processors, by Debian's words. */
const elfMagic = 0x7f454c46;
const machines: Readonly<Record<string, number>> = { amd64: 62, arm64: 183 };

/** Takes images out of the container engine, and keeps what it made of them by the images' ids, so that the next release compresses only what is new. */
export class SavedImages {
  readonly #engine: string;
  readonly #folder: string;

  constructor({ engine, folder }: { engine: string; folder: string }) {
    this.#engine = engine;
    this.#folder = folder;
  }

  /** Where a compressed layer is. */
  layerFile(digest: string): string {
    return join(this.#folder, "layers", digest.slice("sha256:".length));
  }

  /** The image of this architecture. Throws when a program in it is of another one. */
  async get(reference: string, architecture: string): Promise<SavedImage> {
    const { stdout } = await run(this.#engine, ["image", "inspect", "--format", "{{.Id}}", reference]);
    const file = join(this.#folder, `${stdout.trim().replace("sha256:", "")}-${architecture}.json`);
    const saved = await this.#kept(file) ?? await this.#save(reference, architecture, file);
    if (saved.strangers.length > 0) {
      throw new Error(`${reference} is meant for ${architecture}, and these files of it are not: ${saved.strangers.slice(0, 5).join(", ")}.`);
    }
    return saved;
  }

  async #kept(file: string): Promise<SavedImage | undefined> {
    try {
      const kept = Kept.parse(JSON.parse(await readFile(file, "utf8")));
      for (const used of [file, ...kept.layers.map(({ digest }) => this.layerFile(digest))]) await utimes(used, new Date(), new Date());
      return kept;
    } catch {
      return undefined;
    }
  }

  async #save(reference: string, architecture: string, file: string): Promise<SavedImage> {
    await mkdir(join(this.#folder, "layers"), { recursive: true });
    const work = await mkdtemp(join(this.#folder, "work."));
    try {
      await unpackImage(this.#engine, reference, work);
      const [saved] = Saved.parse(JSON.parse(await readFile(join(work, "manifest.json"), "utf8")));
      const config = ImageConfig.parse(JSON.parse(await readFile(join(work, saved.Config), "utf8")));
      if (saved.Layers.length !== config.rootfs.diff_ids.length) throw new Error(`${reference} has another number of layers than its configuration says.`);
      const files = saved.Layers.map((layer) => join(work, layer));
      const layers: { digest: string }[] = [];
      for (const layer of files) layers.push({ digest: await this.#compress(layer, work) });
      const kept = { config, layers, packages: await debianPackages(files), strangers: await strangersIn(files, architecture, work) };
      await writeFile(file, JSON.stringify(kept));
      return kept;
    } finally {
      await rm(work, { recursive: true, force: true });
    }
  }

  /** Compresses the layer, unless it was before; returns the digest of what came out. */
  async #compress(layer: string, work: string): Promise<string> {
    const plain = await sha256Of(layer);
    const known = join(this.#folder, "layers", `of-${plain}`);
    const digest = await readFile(known, "utf8").catch(() => undefined);
    if (digest !== undefined && await stat(this.layerFile(digest)).then(() => true, () => false)) return digest;
    const target = join(work, "compressed");
    await pipeline(createReadStream(layer), createGzip({ level: 6 }), createWriteStream(target));
    const made = `sha256:${await sha256Of(target)}`;
    await rename(target, this.layerFile(made));
    await writeFile(known, made);
    return made;
  }
}

/** By the shell's pipe: a pipe of Node's is a socket, which tar leaves at the archive's end, while the engine may still write what fills up its last record. */
async function unpackImage(engine: string, reference: string, folder: string): Promise<void> {
  await run("bash", ["-o", "pipefail", "-c", '"$0" save "$1" | tar -x -C "$2"', engine, reference, folder]);
}

async function sha256Of(file: string): Promise<string> {
  const hash = createHash("sha256");
  await pipeline(createReadStream(file), hash);
  return hash.digest("hex");
}

/** What dpkg's newest status of the layers says, or the single files that an image without dpkg has. */
async function debianPackages(layers: readonly string[]): Promise<string> {
  let status = "";
  for (const layer of layers) {
    const { stdout: list } = await run("tar", ["-tf", layer], { maxBuffer: 256 * 2 ** 20 });
    const names = list.split("\n").filter((name) => /^(\.\/)?var\/lib\/dpkg\/status(\.d\/[^/]+)?$/.test(name));
    if (names.length === 0) continue;
    const { stdout } = await run("tar", ["-xOf", layer, ...names], { maxBuffer: 256 * 2 ** 20 });
    status = stdout;
  }
  return status;
}

/** Returns the programs and libraries that are for other processors. */
async function strangersIn(layers: readonly string[], architecture: string, work: string): Promise<string[]> {
  const machine = machines[architecture];
  if (machine === undefined) throw new Error(`The release knows no architecture ${architecture}.`);
  const found: string[] = [];
  for (const layer of layers) {
    const root = await mkdtemp(join(work, "layer."));
    await run("tar", ["-xf", layer, "-C", root, "--no-same-owner", "--exclude=dev/*"], { maxBuffer: 64 * 2 ** 20 });
    for (const entry of await readdir(root, { recursive: true, withFileTypes: true })) {
      const file = join(entry.parentPath, entry.name);
      if (entry.isFile() && (await machineOf(file) ?? machine) !== machine) found.push(relative(root, file));
    }
    await rm(root, { recursive: true });
  }
  return found;
}

/** The processor that an ELF file is for, by ELF's number; undefined for other files. */
async function machineOf(file: string): Promise<number | undefined> {
  const head = Buffer.alloc(20);
  const handle = await open(file);
  try {
    const { bytesRead } = await handle.read(head, 0, head.length, 0);
    return bytesRead === head.length && head.readUInt32BE(0) === elfMagic ? head.readUInt16LE(18) : undefined;
  } finally {
    await handle.close();
  }
}

import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { createReadStream, createWriteStream } from "node:fs";
import {
  mkdir,
  mkdtemp,
  open,
  readFile,
  readdir,
  rename,
  rm,
  stat,
  utimes,
  writeFile,
} from "node:fs/promises";
import { join, relative } from "node:path";
import { pipeline } from "node:stream/promises";
import { promisify } from "node:util";
import { createGunzip, createGzip } from "node:zlib";
import { z } from "zod";

const run = promisify(execFile);
const diffId = z.string().regex(/^sha256:[0-9a-f]{64}$/);
const Saved = z.tuple([z.object({ Config: z.string(), Layers: z.array(z.string()) })]);
const ImageConfig = z.looseObject({ rootfs: z.object({ diff_ids: z.array(diffId) }) });
const Layer = z.object({ digest: diffId });
const Kept = z.object({
  config: ImageConfig,
  layers: z.array(Layer),
  packages: z.string(),
  strangers: z.array(z.string()),
});

/**
 * An image as the release has it: its configuration, its compressed layers, Debian's list of its packages.
 */
export type SavedImage = z.infer<typeof Kept>;

/** ELF's numbers of processors, by Debian's words. */
const elfMagic = 0x7f454c46;
const machines: Readonly<Record<string, number>> = { amd64: 62, arm64: 183 };

/** How compressed layers begin. */
const gzipMagic = "1f8b";
const zstdMagic = "28b52ffd";

/**
 * Takes images out of the container engine, and keeps what it made of them by the images' ids, so that the
 * next release compresses only what is new.
 */
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
    // The name says that the layers were held to the configuration: earlier releases kept, by the id alone,
    // layers that were compressed twice.
    const file = join(this.#folder, `${stdout.trim().replace("sha256:", "")}-${architecture}-checked.json`);
    const saved = (await this.#kept(file)) ?? (await this.#save(reference, architecture, file));
    if (saved.strangers.length > 0) {
      throw new Error(
        `${reference} is meant for ${architecture}, and these files of it are not: ${saved.strangers.slice(0, 5).join(", ")}.`,
      );
    }
    return saved;
  }

  async #kept(file: string): Promise<SavedImage | undefined> {
    try {
      const kept = Kept.parse(JSON.parse(await readFile(file, "utf8")));
      for (const used of [file, ...kept.layers.map(({ digest }) => this.layerFile(digest))])
        await utimes(used, new Date(), new Date());
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
      if (saved.Layers.length !== config.rootfs.diff_ids.length)
        throw new Error(`${reference} has another number of layers than its configuration says.`);
      const files: string[] = [];
      const layers: { digest: string }[] = [];
      for (const [index, layer] of saved.Layers.entries()) {
        const plain = await plainLayer(join(work, layer), join(work, `plain-${index}`));
        const digest = `sha256:${await sha256Of(plain)}`;
        if (digest !== config.rootfs.diff_ids[index])
          throw new Error(`Layer ${index + 1} of ${reference} is not what its configuration says.`);
        files.push(plain);
        layers.push({ digest: await this.#compress(plain, digest, work) });
      }
      const kept = {
        config,
        layers,
        packages: await debianPackages(files),
        strangers: await strangersIn(files, architecture, work),
      };
      await writeFile(file, JSON.stringify(kept));
      return kept;
    } finally {
      await rm(work, { recursive: true, force: true });
    }
  }

  /** Compresses the layer that has this digest, unless it was before; returns the digest of what came out. */
  async #compress(layer: string, plainDigest: string, work: string): Promise<string> {
    const known = join(this.#folder, "layers", `of-${plainDigest.slice("sha256:".length)}`);
    const digest = await readFile(known, "utf8").catch(() => undefined);
    if (
      digest !== undefined &&
      (await stat(this.layerFile(digest)).then(
        () => true,
        () => false,
      ))
    )
      return digest;
    const target = join(work, "compressed");
    await pipeline(createReadStream(layer), createGzip({ level: 6 }), createWriteStream(target));
    const made = `sha256:${await sha256Of(target)}`;
    await rename(target, this.layerFile(made));
    await writeFile(known, made);
    return made;
  }
}

/**
 * By the shell's pipe: a pipe of Node's is a socket, which tar leaves at the archive's end, while the engine
 * may still write what fills up its last record.
 */
async function unpackImage(engine: string, reference: string, folder: string): Promise<void> {
  await run("bash", ["-o", "pipefail", "-c", '"$0" save "$1" | tar -x -C "$2"', engine, reference, folder]);
}

/**
 * Returns the file of the layer's plain archive: the layer itself, or `target` where the engine saved it
 * compressed, as Docker's containerd image store does.
 */
async function plainLayer(layer: string, target: string): Promise<string> {
  const head = (await headOf(layer, 4)).toString("hex");
  if (head === zstdMagic)
    throw new Error(
      "The engine saved a layer compressed with zstd, of which the release knows nothing; build the image with gzip.",
    );
  if (!head.startsWith(gzipMagic)) return layer;
  await pipeline(createReadStream(layer), createGunzip(), createWriteStream(target));
  return target;
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
    const names = list
      .split("\n")
      .filter((name) => /^(\.\/)?var\/lib\/dpkg\/status(\.d\/[^/]+)?$/.test(name));
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
    await run("tar", ["-xf", layer, "-C", root, "--no-same-owner", "--exclude=dev/*"], {
      maxBuffer: 64 * 2 ** 20,
    });
    for (const entry of await readdir(root, { recursive: true, withFileTypes: true })) {
      const file = join(entry.parentPath, entry.name);
      if (entry.isFile() && ((await machineOf(file)) ?? machine) !== machine)
        found.push(relative(root, file));
    }
    await rm(root, { recursive: true });
  }
  return found;
}

/** The processor that an ELF file is for, by ELF's number; undefined for other files. */
async function machineOf(file: string): Promise<number | undefined> {
  const head = await headOf(file, 20);
  return head.length === 20 && head.readUInt32BE(0) === elfMagic ? head.readUInt16LE(18) : undefined;
}

/** The first bytes of a file, as many as it has of them. */
async function headOf(file: string, bytes: number): Promise<Buffer> {
  const handle = await open(file);
  try {
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(bytes), 0, bytes, 0);
    return buffer.subarray(0, bytesRead);
  } finally {
    await handle.close();
  }
}

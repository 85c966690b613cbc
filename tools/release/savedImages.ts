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

/** An image for a release: its configuration, compressed layers and dpkg status. */
export type SavedImage = z.infer<typeof Kept>;

/** ELF machine numbers by Debian architecture. */
const elfMagic = 0x7f454c46;
const machines: Readonly<Record<string, number>> = { amd64: 62, arm64: 183 };

/** The first bytes of compressed layers. */
const gzipMagic = "1f8b";
const zstdMagic = "28b52ffd";

/**
 * Saves images from the container engine, and caches the result by image id, so that the next release
 * compresses only new layers.
 */
export class SavedImages {
  readonly #engine: string;
  readonly #folder: string;

  constructor({ engine, folder }: { engine: string; folder: string }) {
    this.#engine = engine;
    this.#folder = folder;
  }

  /** Returns the path of a compressed layer. */
  layerFile(digest: string): string {
    return join(this.#folder, "layers", digest.slice("sha256:".length));
  }

  /** Returns the image for this architecture. @throws If a program in it is for another architecture. */
  async get(reference: string, architecture: string): Promise<SavedImage> {
    const { stdout } = await run(this.#engine, ["image", "inspect", "--format", "{{.Id}}", reference]);
    // "checked" means that the layers were compared with the configuration. Earlier releases cached layers
    // that were compressed twice, in files named by id only.
    const file = join(this.#folder, `${stdout.trim().replace("sha256:", "")}-${architecture}-checked.json`);
    const saved = (await this.#kept(file)) ?? (await this.#save(reference, architecture, file));
    if (saved.strangers.length > 0) {
      throw new Error(
        `${reference} is for ${architecture}, but contains files for another architecture: ${saved.strangers.slice(0, 5).join(", ")}.`,
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
        throw new Error(`${reference} does not have as many layers as its configuration lists.`);
      const files: string[] = [];
      const layers: { digest: string }[] = [];
      for (const [index, layer] of saved.Layers.entries()) {
        const plain = await plainLayer(join(work, layer), join(work, `plain-${index}`));
        const digest = `sha256:${await sha256Of(plain)}`;
        if (digest !== config.rootfs.diff_ids[index])
          throw new Error(
            `Layer ${index + 1} of ${reference} does not match the digest in the configuration.`,
          );
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

  /** Returns the digest of the compressed layer. Compresses it unless that is cached. */
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
 * Unpacks the saved image. Uses a shell pipe, because Node's pipes are sockets: tar closes its end after the
 * archive's last entry, while the engine may still write the padding of the last record.
 */
async function unpackImage(engine: string, reference: string, folder: string): Promise<void> {
  await run("bash", ["-o", "pipefail", "-c", '"$0" save "$1" | tar -x -C "$2"', engine, reference, folder]);
}

/**
 * Returns the path of the uncompressed layer: `layer`, or `target` if the engine saved it compressed, like
 * Docker's containerd image store.
 */
async function plainLayer(layer: string, target: string): Promise<string> {
  const head = (await headOf(layer, 4)).toString("hex");
  if (head === zstdMagic)
    throw new Error(
      "The engine saved a layer compressed with zstd, which is not supported. Build the image with gzip.",
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

/**
 * Returns the dpkg status of the newest layer that has one, or the status.d files of an image without dpkg.
 */
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

/** Returns the paths of programs and libraries for other architectures. */
async function strangersIn(layers: readonly string[], architecture: string, work: string): Promise<string[]> {
  const machine = machines[architecture];
  if (machine === undefined) throw new Error(`Releases do not support the architecture ${architecture}.`);
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

/** Returns the machine number of an ELF file, or undefined for other files. */
async function machineOf(file: string): Promise<number | undefined> {
  const head = await headOf(file, 20);
  return head.length === 20 && head.readUInt32BE(0) === elfMagic ? head.readUInt16LE(18) : undefined;
}

/** Returns up to `bytes` bytes from the start of a file. */
async function headOf(file: string, bytes: number): Promise<Buffer> {
  const handle = await open(file);
  try {
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(bytes), 0, bytes, 0);
    return buffer.subarray(0, bytesRead);
  } finally {
    await handle.close();
  }
}

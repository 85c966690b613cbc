import { createHash } from "node:crypto";
import { copyFileSync, linkSync, mkdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { z } from "zod";

const Digest = z.string().regex(/^sha256:[0-9a-f]{64}$/);
const Descriptor = z.object({
  mediaType: z.string(),
  digest: Digest,
  size: z.int(),
  platform: z.object({ os: z.string(), architecture: z.string() }).optional(),
  annotations: z.record(z.string(), z.string()).optional(),
});
const Index = z.object({ manifests: z.array(Descriptor) });

/** Refers to a blob in manifests. */
export type Descriptor = z.infer<typeof Descriptor>;

/** Media types of the OCI image specification, and Helm's for charts. */
export const mediaTypes = {
  index: "application/vnd.oci.image.index.v1+json",
  manifest: "application/vnd.oci.image.manifest.v1+json",
  config: "application/vnd.oci.image.config.v1+json",
  layer: "application/vnd.oci.image.layer.v1.tar+gzip",
  chartConfig: "application/vnd.cncf.helm.config.v1+json",
  chartContent: "application/vnd.cncf.helm.chart.content.v1.tar+gzip",
} as const;

const referenceName = "org.opencontainers.image.ref.name";

/** An OCI image layout: a folder of blobs by digest, with an index of names. */
export class OciLayout {
  readonly #folder: string;

  constructor(folder: string) {
    this.#folder = folder;
    mkdirSync(join(folder, "blobs/sha256"), { recursive: true });
    writeFileSync(join(folder, "oci-layout"), '{"imageLayoutVersion":"1.0.0"}');
  }

  addJson(mediaType: string, value: unknown): Descriptor {
    return this.addBytes(mediaType, Buffer.from(JSON.stringify(value)));
  }

  addBytes(mediaType: string, content: Buffer): Descriptor {
    const digest = `sha256:${createHash("sha256").update(content).digest("hex")}`;
    writeFileSync(this.#pathOf(digest), content);
    return { mediaType, digest, size: content.length };
  }

  /** Adds a file with a known digest, as a hard link if possible. */
  addFile(mediaType: string, digest: string, file: string): Descriptor {
    const path = this.#pathOf(digest);
    const size = statSync(file).size;
    if (statSync(path, { throwIfNoEntry: false })?.size !== size) linkOrCopy(file, path);
    return { mediaType, digest, size };
  }

  /** Assigns the name to the manifest or index, and removes it from any other. */
  name(descriptor: Descriptor, name: string): void {
    const others = this.references().filter(({ annotations }) => annotations?.[referenceName] !== name);
    const manifests = [
      ...others,
      { ...descriptor, annotations: { ...descriptor.annotations, [referenceName]: name } },
    ];
    writeFileSync(
      join(this.#folder, "index.json"),
      JSON.stringify({ schemaVersion: 2, mediaType: mediaTypes.index, manifests }),
    );
  }

  /** Returns all named manifests and indexes. */
  references(): Descriptor[] {
    const file = join(this.#folder, "index.json");
    if (statSync(file, { throwIfNoEntry: false }) === undefined) return [];
    return Index.parse(JSON.parse(readFileSync(file, "utf8"))).manifests;
  }

  /** Returns the digest of the manifest or index with the name. @throws If there is none. */
  digestOf(name: string): string {
    const found = this.references().find(({ annotations }) => annotations?.[referenceName] === name);
    if (found === undefined) throw new Error(`${this.#folder} has no ${name}.`);
    return found.digest;
  }

  #pathOf(digest: string): string {
    return join(this.#folder, "blobs/sha256", Digest.parse(digest).slice("sha256:".length));
  }
}

/** Returns the names in a layout. */
export function namesIn(layout: OciLayout): string[] {
  return layout.references().flatMap(({ annotations }) => annotations?.[referenceName] ?? []);
}

function linkOrCopy(file: string, path: string): void {
  try {
    linkSync(file, path);
  } catch {
    // Another file system, or a truncated file exists already.
    copyFileSync(file, path);
  }
}

// Converts an unpacked `docker save` or `podman save` archive into an OCI layout with uncompressed layers, so
// that layers have the same digests as those a containerd node has from other images and earlier builds.
// Prints one blob digest per line. Arguments: folder, reference.
import { createHash } from "node:crypto";
import { mkdirSync, readFileSync, renameSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { z } from "zod";

const Saved = z.tuple([z.object({ Config: z.string(), Layers: z.array(z.string()) })]);
const ImageConfig = z.object({
  rootfs: z.object({ diff_ids: z.array(z.string().regex(/^sha256:[0-9a-f]{64}$/)) }),
});
const types = {
  manifest: "application/vnd.oci.image.manifest.v1+json",
  config: "application/vnd.oci.image.config.v1+json",
  layer: "application/vnd.oci.image.layer.v1.tar",
};

const [folder, reference] = process.argv.slice(2);
if (folder === undefined || reference === undefined)
  throw new Error("usage: ociLayout.ts <folder> <reference>");
const blobs = join(folder, "blobs/sha256");
mkdirSync(blobs, { recursive: true });

const [saved] = Saved.parse(JSON.parse(readFileSync(join(folder, "manifest.json"), "utf8")));
const configText = readFileSync(join(folder, saved.Config));
const {
  rootfs: { diff_ids: layerDigests },
} = ImageConfig.parse(JSON.parse(configText.toString()));

const config = addBlob(types.config, configText);
const layers = saved.Layers.map((path, index) => {
  const diffId = layerDigests[index];
  if (diffId === undefined) throw new Error(`${reference} has more layers than its configuration lists.`);
  // Newer Docker versions save an OCI layout, whose layers may be compressed; their digest then differs from
  // the diff ID.
  const digest = /^blobs\/(sha256)\/([0-9a-f]{64})$/.exec(path)?.slice(1).join(":") ?? diffId;
  const blob = join(blobs, digest.replace("sha256:", ""));
  // The same layer may occur twice, in particular an empty one.
  if (!exists(blob)) renameSync(join(folder, path), blob);
  return {
    mediaType: digest === diffId ? types.layer : `${types.layer}+gzip`,
    digest,
    size: statSync(blob).size,
  };
});
const manifest = addBlob(
  types.manifest,
  Buffer.from(JSON.stringify({ schemaVersion: 2, mediaType: types.manifest, config, layers })),
);
const annotations = { "io.containerd.image.name": reference };
writeFileSync(
  join(folder, "index.json"),
  JSON.stringify({ schemaVersion: 2, manifests: [{ ...manifest, annotations }] }),
);
writeFileSync(join(folder, "oci-layout"), '{"imageLayoutVersion": "1.0.0"}');
for (const digest of new Set([manifest.digest, config.digest, ...layers.map((layer) => layer.digest)]))
  console.log(digest);

function addBlob(mediaType: string, content: Buffer): { mediaType: string; digest: string; size: number } {
  const hex = createHash("sha256").update(content).digest("hex");
  writeFileSync(join(blobs, hex), content);
  return { mediaType, digest: `sha256:${hex}`, size: content.length };
}

function exists(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false }) !== undefined;
}

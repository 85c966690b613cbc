import { createHash } from "node:crypto";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gunzipSync, gzipSync, zstdCompressSync } from "node:zlib";
import { expect } from "chai";
import { aTar } from "#test/factories/tarArchive.ts";
import { SavedImages } from "../../../../tools/release/savedImages.ts";

const imageId = "ab".repeat(32);
const layer = aTar([{ name: "etc/greeting", body: "hello" }]);
const digestOf = (content: Buffer): string => `sha256:${createHash("sha256").update(content).digest("hex")}`;

describe("an image that a release saves from the container engine", () => {
  let folder: string;
  let saved: SavedImages;

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), "joypod-saved-images-"));
    mkdirSync(join(folder, "image"));
    const engine = `case $1 in image) echo sha256:${imageId} ;; save) echo "$2" >>${folder}/asked; tar -c -C ${folder}/image . ;; esac`;
    writeFileSync(join(folder, "docker"), `#!/bin/bash\n${engine}\n`, { mode: 0o755 });
    mkdirSync(join(folder, "kept"));
    saved = new SavedImages({ engine: join(folder, "docker"), folder: join(folder, "kept") });
  });
  afterEach(() => rmSync(folder, { recursive: true, force: true }));

  /** Has the engine save an image of these layers, whose configuration names these digests. */
  function addImage(layers: readonly Buffer[], diffIds: readonly string[]): void {
    const write = (name: string, content: Buffer | string): void =>
      writeFileSync(join(folder, "image", name), content);
    for (const [index, content] of layers.entries()) write(`layer-${index}`, content);
    write("config.json", JSON.stringify({ rootfs: { type: "layers", diff_ids: diffIds } }));
    write(
      "manifest.json",
      JSON.stringify([{ Config: "config.json", Layers: layers.map((_, index) => `layer-${index}`) }]),
    );
  }

  /** The archive that a node unpacks of the image's only layer. */
  async function unpacked(): Promise<Buffer> {
    const { layers } = await saved.get("joypod/greeter:1", "amd64");
    const compressed = readFileSync(saved.layerFile(layers[0]?.digest ?? ""));
    expect(digestOf(compressed)).to.equal(layers[0]?.digest);
    return gunzipSync(compressed);
  }

  for (const [how, content] of [
    ["plain", layer],
    ["compressed", gzipSync(layer)],
  ] as const) {
    it(`has layers that a node can unpack if the engine saves them ${how}`, async () => {
      addImage([content], [digestOf(layer)]);
      expect(digestOf(await unpacked())).to.equal(digestOf(layer));
    });
  }

  it("is saved once", async () => {
    addImage([gzipSync(layer)], [digestOf(layer)]);
    await unpacked();
    await unpacked();
    expect(readFileSync(join(folder, "asked"), "utf8")).to.equal("joypod/greeter:1\n");
  });

  it("is saved again if an earlier release cached layers without comparing them with the configuration", async () => {
    addImage([gzipSync(layer)], [digestOf(layer)]);
    const twice = gzipSync(gzipSync(layer));
    mkdirSync(join(folder, "kept/layers"));
    writeFileSync(saved.layerFile(digestOf(twice)), twice);
    const kept = {
      config: { rootfs: { diff_ids: [digestOf(layer)] } },
      layers: [{ digest: digestOf(twice) }],
      packages: "",
      strangers: [],
    };
    writeFileSync(join(folder, "kept", `${imageId}-amd64.json`), JSON.stringify(kept));
    expect(digestOf(await unpacked())).to.equal(digestOf(layer));
  });

  it("is rejected if a layer does not match its configuration", async () => {
    addImage([gzipSync(layer)], [digestOf(Buffer.from("another layer"))]);
    expect(await failure()).to.equal(
      "Layer 1 of joypod/greeter:1 does not match the digest in the configuration.",
    );
  });

  it("is rejected with an error message if its layers are compressed with zstd", async () => {
    addImage([zstdCompressSync(layer)], [digestOf(layer)]);
    expect(await failure()).to.contain("compressed with zstd");
  });

  async function failure(): Promise<string> {
    const ended: unknown = await saved.get("joypod/greeter:1", "amd64").catch((error: unknown) => error);
    return ended instanceof Error ? ended.message : "It did not fail.";
  }
});

import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdir, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { programPath, repositoryRoot } from "#test/support/processes/programs.ts";
import { clusterFolder, clusterState, mainCluster } from "./clusterState.ts";

const run = promisify(execFile);
const buildTimeoutMs = 40 * 60_000;

/**
 * The oldest release from which upgrades are supported. RELEASE_BEFORE may be another commit, tag or branch.
 */
const ref = process.env["RELEASE_BEFORE"] ?? "dbd3045c1389b54a3dbb9b63159f6f04c4198883";
/**
 * Different from the repository of current images, because loading an image removes its other tags from the
 * nodes.
 */
const imageRepository = "localhost/joypod-before";
/** Images of Joypod's programs. The stores keep today's images: their restart is tested elsewhere. */
const programImages = ["controlPlane", "game", "streamer"];
const storeImages = ["postgres", "redis", "minio"];
/** The cluster name that the old release's tools write their state under. */
const cluster = "before";

/** The file with the image references of `make up`. */
export const todaysImages = join(clusterFolder(mainCluster), "images.yaml");

/** An old release, built from its commit with its own tools. */
export interface ReleaseBefore {
  /** The chart's folder. */
  chart: string;
  /** The file with image references, which Helm reads. */
  images: string;
}

/**
 * Builds the old release in the cache folder, which takes about ten minutes the first time. Requires its
 * commit in this clone, and the prerequisites of `make up`.
 */
export async function buildReleaseBefore(): Promise<ReleaseBefore> {
  const commit = await commitOf(ref);
  const engine = clusterState(mainCluster, "ENGINE");
  // Next to the clusters' folders.
  const folder = join(clusterFolder(mainCluster), "../../releases", commit.slice(0, 12));
  const [source, cache] = [join(folder, "source"), join(folder, "cache")];
  await unpack(commit, source);
  const env = {
    ...process.env,
    PATH: `${join(source, "node_modules/.bin")}:${process.env["PATH"] ?? ""}`,
    JOYPOD_CACHE: cache,
    JOYPOD_CLUSTER: cluster,
    JOYPOD_IMAGE_REPOSITORY: imageRepository,
    JOYPOD_KUBE_CONTEXT: "",
    JOYPOD_ENGINE: engine,
  };
  const inSource = async (command: string, ...args: string[]): Promise<string> =>
    (await run(command, args, { cwd: source, env, timeout: buildTimeoutMs, maxBuffer: 64 * 2 ** 20 })).stdout;
  await mkdir(join(cache, "clusters", cluster), { recursive: true });
  await writeFile(join(cache, "clusters", cluster, "state.env"), `ENGINE=${engine}\n`);
  await standInForMinio(
    await inSource("bash", "-c", ". tools/lib.sh; . tools/programs/programs.sh; programPath minio"),
  );
  await inSource("make", "ready", "built");
  const references = await inSource("tools/images/build.sh", ...programImages);
  const today = await readFile(todaysImages, "utf8");
  const stores = today
    .split("\n")
    .filter((line) => storeImages.some((value) => line.startsWith(`  ${value}:`)));
  const images = join(folder, "images.yaml");
  await writeFile(images, `${references.trimEnd()}\n${stores.join("\n")}\n`);
  return { chart: join(source, "charts/joypod"), images };
}

async function commitOf(name: string): Promise<string> {
  try {
    return (
      await run("git", ["-C", repositoryRoot, "rev-parse", "--verify", "--quiet", `${name}^{commit}`])
    ).stdout.trim();
  } catch (cause) {
    throw new Error(
      `The upgrade is tested from ${name}, which this clone does not have: get it by \`git fetch --unshallow\`, or name another commit in RELEASE_BEFORE.`,
      { cause },
    );
  }
}

/** Extracts the files of the commit once. */
async function unpack(commit: string, source: string): Promise<void> {
  if (existsSync(source)) return;
  const draft = `${source}.new`;
  await rm(draft, { recursive: true, force: true });
  await mkdir(draft, { recursive: true });
  await run("sh", [
    "-c",
    'git -C "$1" archive "$2" | tar -x -C "$3" && mv "$3" "$4"',
    "sh",
    repositoryRoot,
    commit,
    draft,
    source,
  ]);
}

/**
 * Creates a placeholder for MinIO: the old tools compile it before building any image, but the images built
 * here do not contain it.
 */
async function standInForMinio(path: string): Promise<void> {
  const link = path.trim();
  await mkdir(dirname(link), { recursive: true });
  await rm(link, { force: true });
  await symlink(await programPath("minio"), link);
}

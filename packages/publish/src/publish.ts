import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Clock } from "#runtime/scheduling/clock.ts";
import { configName, type ConfigFile } from "./config.ts";
import type { Progress, ProgressStep } from "./output/progress.ts";
import { bytesText, countText } from "./output/text.ts";
import { checkFolder, checkRatio, type GameLayout } from "./pack/checkFolder.ts";
import { listFolder, listUpTo, rootNames, type FolderListing } from "./pack/listFolder.ts";
import { packArchive, type PackedArchive } from "./pack/packArchive.ts";
import { PublishError, usageError } from "./publishError.ts";
import type { PartnerApi } from "./server/partnerApi.ts";
import type { Upload, Verification } from "./server/responses.ts";
import type { RetryContext } from "./server/retry.ts";
import { putArchive, type UploadWish } from "./upload/putArchive.ts";
import { endUpload, uploadInChunks, type ResumableContext } from "./upload/uploadInChunks.ts";
import { fingerprintOf, UploadState } from "./upload/uploadState.ts";
import { waitForDistribution, type Distribution } from "./waitForDistribution.ts";
import { waitForVerification } from "./waitForVerification.ts";

/** What the steps of publishing need. */
export interface PublishContext {
  progress: Progress;
  platform: NodeJS.Platform;
  clock: Clock;
  signal: AbortSignal;
}

/** How a folder is packed. */
export interface PackSettings {
  folder: string;
  keepTimes: boolean;
  /** Settings of the game, for its registration. Undefined fields are guessed if possible. */
  game: ConfigFile;
}

export interface PublishSettings extends PackSettings {
  wish: UploadWish;
  /** How long to wait until the game servers hold the version; 0 for not at all. */
  waitMs: number;
  stateFolder: string;
  /** Size of the chunks of an upload. */
  chunkBytes: number;
}

/** What publishing has achieved. */
export interface Published {
  slug: string;
  isNewGame: boolean;
  isPrivate: boolean;
  /** Whether it is what players get. */
  isCurrent: boolean;
  channel: string | undefined;
  upload: Upload;
  /** Undefined if players do not get the version, or nobody waits. */
  distribution: Distribution | undefined;
  /** Undefined if the platform does not verify the version, or nobody waits. */
  verification: Verification | undefined;
}

/** Packs and checks a folder without a server. The archive is removed again. */
export async function packOnly(context: PublishContext, settings: PackSettings): Promise<PackedArchive> {
  const listing = listFiles(context, settings.folder);
  const layout = layoutOf(listing, settings.game);
  checkFolder(listing, layout);
  const folder = await mkdtemp(join(tmpdir(), "joypod-publish-"));
  try {
    return await pack(context, listing, layout, join(folder, "game.tar.gz"), settings.keepTimes);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/**
 * Packs a folder and uploads it as a version of the game, which is registered if necessary. Waits until the
 * game servers hold the version.
 *
 * @throws PublishError
 */
export async function publish(
  context: PublishContext,
  api: PartnerApi,
  retry: RetryContext,
  settings: PublishSettings,
): Promise<Published> {
  const { clock, progress } = context;
  const { slug } = api;
  const listing = listFiles(context, settings.folder);
  const game = await api.findGame();
  const layout = game ?? newLayout(slug, listing, settings.game);
  noteOtherLayout(progress, layout, settings.game);
  checkFolder(listing, layout);
  noteCompiledPython(progress, listing, settings.keepTimes);
  if (game === undefined) await register(context, api, settings.game, layout);
  const state = await UploadState.open(settings.stateFolder, api.http.address, slug, clock.now());
  let upload: Upload;
  try {
    if (state.isTemporary)
      progress.note(`${settings.stateFolder} cannot be written. An interrupted upload will start again.`);
    const archive = await findOrPack(context, api, state, listing, layout, settings.keepTimes);
    await checkSize(api, archive);
    const { chunkBytes, wish } = settings;
    upload = await send(context, { api, retry, state, chunkBytes }, archive, wish);
    await state.remove();
  } finally {
    await state.close();
  }
  const visibility = game === undefined ? settings.game.visibility : game.visibility;
  const { channel } = settings.wish;
  const published = { slug, isNewGame: game === undefined, isPrivate: visibility === "private", channel };
  const outcome = await awaitPlayable(context, api, upload, settings.waitMs);
  return { ...published, upload, ...outcome };
}

type Outcome = Pick<Published, "isCurrent" | "distribution" | "verification">;

/**
 * Waits until the game servers hold the version, and the platform has verified it. Does not wait if the time
 * is 0.
 */
async function awaitPlayable(
  { clock, progress, signal }: PublishContext,
  api: PartnerApi,
  upload: Upload,
  timeoutMs: number,
): Promise<Outcome> {
  const { isCurrent } = upload;
  if (timeoutMs === 0) return { isCurrent, distribution: undefined, verification: undefined };
  const wait = { clock, signal, timeoutMs };
  const verify = () =>
    waitForVerification(api, upload.versionId, wait, (state) =>
      progress.note(state === "running" ? "The platform plays it …" : "It waits to be verified …"),
    );
  const distribute = () => waitForDistribution(api, wait, (text) => progress.note(text));
  if (isCurrent) return { isCurrent, distribution: await distribute(), verification: await verify() };
  const verification = await verify();
  // A version that needs a good verdict becomes current with it.
  const isReleased = verification?.verdict === "good" && (await isCurrentVersion(api, upload.versionId));
  return { isCurrent: isReleased, distribution: isReleased ? await distribute() : undefined, verification };
}

async function isCurrentVersion(api: PartnerApi, versionId: string): Promise<boolean> {
  const versions = await api.versions();
  return versions.some(({ id, isCurrent }) => id === versionId && isCurrent);
}

function listFiles({ platform, progress }: PublishContext, folder: string): FolderListing {
  const listing = listFolder(folder, platform);
  const { entries, leftOut, copiedLinks } = listing;
  const files = entries.filter(({ isDirectory }) => !isDirectory);
  const bytes = files.reduce((sum, { size }) => sum + size, 0);
  progress.note(`${folder}: ${countText(files.length, "file")}, ${bytesText(bytes)}`);
  if (leftOut.length > 0) progress.note(`Left out: ${listUpTo(leftOut, 5).join(", ")}`);
  if (copiedLinks.length > 0)
    progress.note(`Symbolic links packed as copies: ${listUpTo(copiedLinks, 5).join(", ")}`);
  return listing;
}

/** Returns the layout of a game that is not registered. `missing` are other options that it lacks. */
function layoutOf(
  listing: FolderListing,
  { launcher, engineDir }: ConfigFile,
  missing: readonly string[] = [],
): GameLayout {
  const { launchers, engineDirs } = rootNames(listing);
  const layout = {
    launcher: launcher ?? onlyOne(launchers),
    engineDir: engineDir ?? onlyOne(engineDirs),
  };
  const options = [
    ...missing,
    ...(layout.launcher === undefined ? [`--launcher (the script that starts it${among(launchers)})`] : []),
    ...(layout.engineDir === undefined ? [`--engine-dir (its directory${among(engineDirs)})`] : []),
  ];
  if (options.length === 0 && layout.launcher !== undefined && layout.engineDir !== undefined)
    return { launcher: layout.launcher, engineDir: layout.engineDir };
  throw usageError(`Add ${options.join(", ")}, or set them in ${configName}.`);
}

function onlyOne(names: readonly string[]): string | undefined {
  return names.length === 1 ? names[0] : undefined;
}

function among(names: readonly string[]): string {
  return names.length === 0 ? "" : `: ${listUpTo(names, 5).join(", ")}`;
}

/** Python compiles a file at each start if the time of its source is not the one in the compiled file. */
function noteCompiledPython(progress: Progress, { entries }: FolderListing, keepTimes: boolean): void {
  if (!keepTimes && entries.some(({ path }) => /(^|\/)__pycache__\/[^/]+\.pyc$/.test(path)))
    progress.note("The folder has compiled Python files. With --keep-times, Python starts faster.");
}

function noteOtherLayout(progress: Progress, layout: GameLayout, wanted: ConfigFile): void {
  for (const name of ["launcher", "engineDir"] as const)
    if (wanted[name] !== undefined && wanted[name] !== layout[name])
      progress.note(
        `The game is registered with ${name} "${layout[name]}", which is used instead of "${wanted[name]}".`,
      );
}

/**
 * Returns the layout of a game that will be registered.
 *
 * @throws PublishError that names all missing options
 */
function newLayout(slug: string, listing: FolderListing, game: ConfigFile): GameLayout {
  const missing = (["title", "developer"] as const).filter((name) => game[name] === undefined);
  try {
    return layoutOf(
      listing,
      game,
      missing.map((name) => `--${name}`),
    );
  } catch (error) {
    if (!(error instanceof PublishError)) throw error;
    throw usageError(`You have no game ${slug} yet, so it would be registered. ${error.message}`);
  }
}

async function register(
  { progress }: PublishContext,
  api: PartnerApi,
  { url: _url, channel: _channel, $schema: _schema, slug: _slug, ...fields }: ConfigFile,
  layout: GameLayout,
): Promise<void> {
  await api.register({ ...fields, ...layout });
  const { launcher, engineDir } = layout;
  progress.note(`Registered ${api.slug} with launcher ${launcher} and engine directory ${engineDir}.`);
}

async function findOrPack(
  context: PublishContext,
  api: PartnerApi,
  state: UploadState,
  listing: FolderListing,
  layout: GameLayout,
  keepTimes: boolean,
): Promise<PackedArchive> {
  const fingerprint = fingerprintOf(listing, [keepTimes, layout.launcher, process.version]);
  const found = await state.findArchive(fingerprint);
  if (found !== undefined) {
    context.progress.note("The files are unchanged since the interrupted upload, which continues.");
    return found;
  }
  const archive = await pack(context, listing, layout, state.archiveFile, keepTimes);
  const useless = await state.keepArchive(archive, fingerprint);
  if (useless !== undefined) await endUpload(api, useless);
  return archive;
}

async function pack(
  { progress, signal }: PublishContext,
  listing: FolderListing,
  layout: GameLayout,
  file: string,
  keepTimes: boolean,
): Promise<PackedArchive> {
  const total = listing.entries.reduce((sum, { size }) => sum + size, 0);
  const step = progress.start("Packing", total);
  let packed = 0;
  try {
    const archive = await packArchive(listing, file, {
      launcher: layout.launcher,
      keepTimes,
      signal,
      onProgress: (bytes) => step.set((packed += bytes)),
    });
    checkRatio(layout, archive.size, archive.unpackedBytes);
    return archive;
  } finally {
    step.end();
  }
}

async function checkSize(api: PartnerApi, { size }: PackedArchive): Promise<void> {
  const maxBytes = await api.uploadMaxBytes();
  if (maxBytes === undefined || size <= maxBytes) return;
  const limit = `This server accepts at most ${bytesText(maxBytes)}.`;
  throw new PublishError("payload_too_large", `The archive has ${bytesText(size)}. ${limit}`);
}

/** Codes of errors after which an archive cannot be uploaded again. */
const unsendable: ReadonlySet<string> = new Set(["invalid_archive", "checksum_mismatch"]);

async function send(
  { progress }: PublishContext,
  upload: Pick<ResumableContext, "api" | "retry" | "state" | "chunkBytes">,
  archive: PackedArchive,
  wish: UploadWish,
): Promise<Upload> {
  const { api, retry, state } = upload;
  let step: ProgressStep | undefined = progress.start("Uploading", archive.size);
  const end = (): void => {
    step?.end();
    step = undefined;
  };
  const onProgress = (bytes: number): void => step?.set(bytes);
  const onChecking = (): void => {
    end();
    progress.note("The server inspects the archive …");
  };
  try {
    const result = await uploadInChunks({ ...upload, onProgress, onChecking }, archive, wish);
    return result ?? (await putArchive(api, archive, wish, retry, onProgress));
  } catch (error) {
    // The same archive would be refused again, or is damaged, so it is not kept.
    if (error instanceof PublishError && unsendable.has(error.code)) await state.remove();
    throw error;
  } finally {
    end();
  }
}

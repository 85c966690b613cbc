import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { UploadResponse } from "#contracts/http/gameVersions.ts";
import type { Clock } from "#runtime/scheduling/clock.ts";
import type { ConfigFile } from "./config.ts";
import type { Progress, ProgressStep } from "./output/progress.ts";
import { bytesText, countText } from "./output/text.ts";
import { checkFolder, checkRatio, type GameLayout } from "./pack/checkFolder.ts";
import { guessLayout } from "./pack/guessLayout.ts";
import { listFolder, listUpTo, type FolderListing } from "./pack/listFolder.ts";
import { packArchive, type PackedArchive } from "./pack/packArchive.ts";
import { PublishError, usageError } from "./publishError.ts";
import type { PartnerApi } from "./server/partnerApi.ts";
import type { RetryContext } from "./server/retry.ts";
import { putArchive, type UploadWish } from "./upload/putArchive.ts";
import { endUpload, uploadInChunks, type ResumableContext } from "./upload/uploadInChunks.ts";
import { fingerprintOf, UploadState } from "./upload/uploadState.ts";
import { waitForDistribution, type Distribution } from "./waitForDistribution.ts";

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
  upload: UploadResponse;
  /** Undefined if players do not get the version, or nobody waits. */
  distribution: Distribution | undefined;
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
  const { clock, progress, signal } = context;
  const { slug } = api;
  const listing = listFiles(context, settings.folder);
  const game = await api.findGame();
  const layout = game ?? layoutOf(listing, settings.game);
  noteOtherLayout(progress, layout, settings.game);
  checkFolder(listing, layout);
  if (game === undefined) await register(context, api, settings.game, layout);
  const state = await UploadState.open(settings.stateFolder, api.http.address, slug, clock.now());
  const archive = await findOrPack(context, api, state, listing, layout, settings.keepTimes);
  await checkSize(api, archive);
  const upload = await send(
    context,
    { api, retry, state, chunkBytes: settings.chunkBytes },
    archive,
    settings.wish,
  );
  await state.remove();
  const shouldWait = upload.isCurrent && settings.waitMs > 0;
  const wait = { clock, signal, timeoutMs: settings.waitMs };
  const distribution = shouldWait
    ? await waitForDistribution(api, wait, ({ servers, cached }) =>
        progress.note(
          `${cached} of ${countText(servers, "game server")} ${cached === 1 ? "holds" : "hold"} it.`,
        ),
      )
    : undefined;
  return { slug, isNewGame: game === undefined, upload, distribution };
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

/** Returns the layout for a game that is not registered yet. */
function layoutOf(listing: FolderListing, { launcher, engineDir }: ConfigFile): GameLayout {
  const guessed = guessLayout(listing);
  const layout = { launcher: launcher ?? guessed.launcher, engineDir: engineDir ?? guessed.engineDir };
  if (layout.launcher === undefined)
    throw usageError("Which script starts the game? Use --launcher with its name at the root of the folder.");
  if (layout.engineDir === undefined)
    throw usageError(
      "Which folder has the engine? Use --engine-dir with its name at the root of the folder.",
    );
  return { launcher: layout.launcher, engineDir: layout.engineDir };
}

function noteOtherLayout(progress: Progress, layout: GameLayout, wanted: ConfigFile): void {
  for (const name of ["launcher", "engineDir"] as const)
    if (wanted[name] !== undefined && wanted[name] !== layout[name])
      progress.note(
        `The game is registered with ${name} "${layout[name]}", which is used instead of "${wanted[name]}".`,
      );
}

async function register(
  { progress }: PublishContext,
  api: PartnerApi,
  { url: _url, channel: _channel, $schema: _schema, slug: _slug, ...fields }: ConfigFile,
  layout: GameLayout,
): Promise<void> {
  if (fields.title === undefined || fields.developer === undefined)
    throw usageError(
      `You have no game ${api.slug} yet. To register it, add --title and --developer. Otherwise check --game.`,
    );
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

async function send(
  { progress }: PublishContext,
  upload: Pick<ResumableContext, "api" | "retry" | "state" | "chunkBytes">,
  archive: PackedArchive,
  wish: UploadWish,
): Promise<UploadResponse> {
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
    // The same archive would be refused again, so it is not kept.
    if (error instanceof PublishError && error.code === "invalid_archive") await state.remove();
    throw error;
  } finally {
    end();
  }
}

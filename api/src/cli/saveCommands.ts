import { pipeline } from "node:stream/promises";
import { InvalidArgumentError, type Command } from "commander";
import { limits } from "#contracts/limits.ts";
import type { SaveSlotHistory } from "#contracts/http/saves.ts";
import { requireUserOf } from "../accounts/findUser.ts";
import type { ArchiveBody } from "../archives/archiveBody.ts";
import { notFound } from "../errors.ts";
import { restoreSave } from "../saves/changeSlot.ts";
import { downloadSave } from "../saves/readableVersion.ts";
import { presentSaves, presentSlot, saveAuditEvent } from "../saves/present.ts";
import type { PlayerGameRef } from "../saves/playerSlotQueries.ts";
import { listUnreadable, type UnreadableSave } from "../saves/saveVersionQueries.ts";
import { currentVersion, noSuchSlot, findGameSaves, type SlotHistory } from "../saves/slotHistory.ts";
import { uploadSave } from "../saves/uploadSave.ts";
import { deletedGameKeptDays } from "../games/partnerGameQueries.ts";
import type { AddCommand, CliEnvironment, CliSaves, Json } from "./environment.ts";
import { randomBytes } from "node:crypto";
import { createWriteStream } from "node:fs";
import { realpath, rename, rm, stat } from "node:fs/promises";
import type { Readable } from "node:stream";

/** The player's address, id or name, and the game's slug. */
interface SaveOptions extends Json {
  user: string;
  game: string;
}

const unreadableShown = 1000;

/** Adds `joypod save …`. */
export function addSaveCommands(command: AddCommand, program: Command, environment: CliEnvironment): void {
  const save = program.command("save").description("players' saves; slots are numbered from 1");
  const about = (name: string, description: string): Command =>
    command(save, name, description)
      .requiredOption("--user <player>", "the player's address, id or name")
      .requiredOption("--game <slug>");
  about("list", "list a player's saves of a game with their versions").action(
    async (options: SaveOptions) => {
      const saves = environment.saves();
      const shown = presentSaves(
        await findGameSaves(saves, saves.postgres.pool, await resolveGame(saves, options)),
      );
      environment.print({ ...shown }, shown.slots.map(describeSlot).join("\n"), options.json === true);
    },
  );
  about("restore", "restore a version of a save; exit code 5 while a session owns the slot")
    .requiredOption("--slot <number>", "the slot", toSlotNumber)
    .requiredOption("--version <id>", "a version id from the list")
    .action(
      async ({ slot: number, version, ...options }: SaveOptions & { slot: number; version: string }) => {
        const saves = environment.saves();
        const whose = await resolveListedGame(saves, options);
        const { id } = await findSlotByNumber(saves, whose, number);
        const slot = await restoreSave(saves, { ...whose, slotId: id }, version);
        await done(
          environment,
          "save.restored",
          whose,
          slot,
          `Slot ${number} continues with version ${version}.`,
          options,
        );
      },
    );
  addTransferCommands(about, environment);
  command(save, "unreadable", `list missing or damaged saves, at most ${unreadableShown}`).action(
    async (options: Json) => {
      const unreadable = await listUnreadable(environment.stores().postgres.pool, unreadableShown);
      environment.print(
        { unreadable },
        unreadable.length === 0 ? "No unreadable saves." : unreadable.map(describeUnreadable).join("\n"),
        options.json === true,
      );
    },
  );
}

function addTransferCommands(
  about: (name: string, description: string) => Command,
  environment: CliEnvironment,
): void {
  about("export", "write a save's archive to a file")
    .requiredOption("--slot <number>", "the slot", toSlotNumber)
    .requiredOption("--output <file>", "- for standard output")
    .option("--version <id>", "a version id from the list (default: the slot's save)")
    .action(
      async ({
        slot: number,
        version: versionId,
        output,
        ...options
      }: SaveOptions & { slot: number; version?: string; output: string }) => {
        const saves = environment.saves();
        const whose = await resolveGame(saves, options);
        const slot = await findSlotByNumber(saves, whose, number);
        const wanted = versionId ?? currentVersion(slot)?.id;
        if (wanted === undefined) throw notFound("This save slot has no save yet.");
        const { version, stream } = await downloadSave(saves, whose.userId, slot, wanted);
        if (output === "-") {
          await pipeline(stream, environment.output(), { end: false });
          return saves.audit.record(
            saveAuditEvent("save.exported", { actor: { kind: "operator" } }, whose.slug, slot),
          );
        }
        await writeWhole(stream, output);
        await done(
          environment,
          "save.exported",
          whose,
          slot,
          `Wrote ${version.bytes} bytes to ${output}.`,
          options,
        );
      },
    );
  about("import", "import an archive from standard input into a slot, by default the lowest empty one")
    .option("--slot <number>", "a slot in use", toSlotNumber)
    .action(async ({ slot: number, ...options }: SaveOptions & { slot?: number }) => {
      const saves = environment.saves();
      const whose = await resolveListedGame(saves, options);
      const slotId = number === undefined ? undefined : (await findSlotByNumber(saves, whose, number)).id;
      const slot = await uploadSave(saves, { ...whose, slotId }, () => bodyOf(environment));
      await done(
        environment,
        "save.imported",
        whose,
        slot,
        `Slot ${slot.number} continues with the imported save.`,
        options,
      );
    });
}

async function done(
  environment: CliEnvironment,
  action: string,
  { slug }: PlayerGameRef,
  slot: SlotHistory,
  sentence: string,
  { json }: Json,
): Promise<void> {
  await environment.saves().audit.record(saveAuditEvent(action, { actor: { kind: "operator" } }, slug, slot));
  environment.print({ ...presentSlot(slot) }, sentence, json === true);
}

async function resolveGame(
  { postgres }: CliSaves,
  { user, game: slug }: SaveOptions,
): Promise<PlayerGameRef> {
  const { id: userId } = await requireUserOf(postgres.pool, user);
  return { userId, slug, includesHidden: true };
}

/**
 * Returns the slots of an available game. Unlike players, admins can restore a deleted game, so the error
 * explains how.
 */
async function resolveListedGame(saves: CliSaves, options: SaveOptions): Promise<PlayerGameRef> {
  const whose = await resolveGame(saves, options);
  const { game } = await findGameSaves(saves, saves.postgres.pool, whose);
  if (game.isListed) return whose;
  if (game.isHidden)
    throw notFound(`The game ${game.slug} is hidden. Show it again first: joypod game unhide ${game.slug}`);
  const remedy = `Its partner can restore a deleted game within ${deletedGameKeptDays} days; \`joypod save export\` works without restoring it.`;
  throw notFound(`The game ${game.slug} is no longer available. ${remedy}`);
}

async function findSlotByNumber(saves: CliSaves, whose: PlayerGameRef, number: number): Promise<SlotHistory> {
  const slot = (await findGameSaves(saves, saves.postgres.pool, whose)).slots.find(
    (one) => one.number === number,
  );
  if (slot === undefined) throw noSuchSlot();
  return slot;
}

function bodyOf(environment: CliEnvironment): ArchiveBody {
  return { open: () => environment.input(), expectedDigests: {} };
}

function describeSlot({ slotNumber, label, state, versions }: SaveSlotHistory): string {
  const lines = versions.map(
    ({ id, savedAt, bytes, kind, isCurrent, isReadable }) =>
      `  ${id}: ${kind}, ${savedAt}, ${bytes} bytes${isCurrent ? ", current" : ""}${isReadable ? "" : ", UNREADABLE"}`,
  );
  return [`Slot ${slotNumber}: ${label === null ? "empty" : `${label}, ${state}`}`, ...lines].join("\n");
}

function describeUnreadable({
  email,
  slug,
  slotNumber,
  versionId,
  objectKey,
  unreadableAt,
}: UnreadableSave): string {
  const whose = email === null ? "a deleted slot" : `${email}, ${slug}, slot ${slotNumber}`;
  return `${versionId}: ${whose}; found ${unreadableAt.toISOString()}: ${objectKey}`;
}

function toSlotNumber(text: string): number {
  const number = Number(text);
  if (!/^\d$/.test(text) || number < 1 || number > limits.saveSlotsPerGame)
    throw new InvalidArgumentError(`Give a number from 1 to ${limits.saveSlotsPerGame}.`);
  return number;
}

/**
 * Writes the stream to a file atomically: a temporary file replaces the target when it is complete. Devices
 * and other special files are written directly.
 */
export async function writeWhole(stream: Readable, path: string): Promise<void> {
  const found = await stat(path).catch(() => undefined);
  if (found !== undefined && !found.isFile()) return pipeline(stream, createWriteStream(path));
  // The target of a symbolic link is replaced, not the link.
  const target = found === undefined ? path : await realpath(path);
  const draft = `${target}.${randomBytes(4).toString("hex")}.part`;
  try {
    await pipeline(
      stream,
      createWriteStream(draft, { flags: "wx", ...(found !== undefined && { mode: found.mode }) }),
    );
    await rename(draft, target);
  } catch (error) {
    await rm(draft, { force: true });
    throw error;
  }
}

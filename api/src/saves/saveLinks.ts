import type { SharedSave } from "#contracts/http/saveLinks.ts";
import { limits } from "#contracts/limits.ts";
import { createLinkToken, linkTokenDigest } from "../auth/linkToken.ts";
import { DomainError, notFound } from "../errors.ts";
import type { Queryable } from "../stores/queryable.ts";
import { copyOf, importIntoNewSlot, type ImportDeps } from "./importedSave.ts";
import type { SlotRef } from "./playerSlotQueries.ts";
import { requireReadableVersion, type ReadableVersionDeps } from "./readableVersion.ts";
import {
  deleteOpenSaveLink,
  findOpenSaveLink,
  insertSaveLink,
  type OpenSaveLink,
} from "./saveLinkQueries.ts";
import { SavePictureStore } from "./savePictures.ts";
import {
  emptySlotNumber,
  findGameSaves,
  findSlotHistory,
  requireFree,
  requireListed,
  requireVersion,
  type GameSaves,
  type HistoryVersion,
  type SlotHistory,
} from "./slotHistory.ts";

/** Dependencies of links to saves. */
export type SaveLinkDeps = ImportDeps & ReadableVersionDeps;

/** The player who opens a link. */
interface Receiver {
  userId: string;
  token: string;
}

/**
 * Creates a link to a version, and returns its token and when it expires. The version must be settled: while
 * a session plays the slot, its version moves on.
 *
 * @throws not_found, slot_in_use, conflict for an unavailable game
 */
export async function createSaveLink(
  deps: SaveLinkDeps,
  slotRef: SlotRef,
  versionId: string,
): Promise<{ token: string; expiresAt: Date; slot: SlotHistory }> {
  const { pool } = deps.postgres;
  const { game, slot } = await findSlotHistory(deps, pool, slotRef);
  requireListed(game);
  requireFree(slot);
  requireVersion(slot, versionId);
  const { token, digest } = createLinkToken();
  const expiresAt = await insertSaveLink(
    pool,
    { id: digest, userId: slotRef.userId, slotId: slot.id, versionId },
    limits.save.link,
  );
  return { token, expiresAt, slot };
}

/**
 * Returns what a link offers.
 *
 * @throws not_found for a link that is unknown, used or expired, or whose save or game is gone for this
 *   player
 */
export async function readSaveLink(
  deps: SaveLinkDeps,
  { userId, token }: Receiver,
  picturesAddress: string,
): Promise<SharedSave> {
  const { link, version } = await findOffer(deps, { userId, token }, picturesAddress);
  const { senderId, senderName, slug, title, thumbnail, expiresAt } = link;
  const picture =
    version.pictureBytes === null
      ? undefined
      : await new SavePictureStore(deps.objectStore).read(version.objectKey).catch(() => undefined);
  return {
    sender: { name: senderName },
    isOwn: senderId === userId,
    game: { slug, title, thumbnail },
    savedAt: version.storedAt.toISOString(),
    playSeconds: Math.round(version.playSeconds * 10) / 10,
    ...(picture !== undefined && { picture: `data:image/jpeg;base64,${picture.toString("base64")}` }),
    expiresAt: expiresAt.toISOString(),
  };
}

/**
 * Copies the save that a link offers to an empty slot of the player, and returns the new slot. The link is
 * used up in the transaction that creates the slot, so it works once, and still works after a failure.
 *
 * @throws not_found, conflict for the player's own link or an unavailable game, no_empty_slot,
 *   unreadable_save, unavailable
 */
export async function receiveSave(
  deps: SaveLinkDeps,
  { userId, token }: Receiver,
  inTransaction?: (slug: string, slot: SlotHistory, transaction: Queryable) => Promise<void>,
): Promise<{ slug: string; slot: SlotHistory; senderId: string }> {
  const { link, senderSlot, saves } = await findOffer(deps, { userId, token }, "");
  const { slug, senderId, versionId } = link;
  if (senderId === userId)
    throw new DomainError("conflict", {
      message: "This is your own link. Copy the save on the game's page instead.",
    });
  requireListed(saves.game);
  emptySlotNumber(saves.slots);
  const version = await requireReadableVersion(deps, userId, senderSlot, versionId);
  const slot = await importIntoNewSlot(
    deps,
    { userId, slug },
    null,
    copyOf(deps, version),
    async (made, transaction) => {
      if (!(await deleteOpenSaveLink(transaction, linkTokenDigest(token)))) throw noSuchLink();
      await inTransaction?.(slug, made, transaction);
    },
  );
  return { slug, slot, senderId };
}

interface Offer {
  link: OpenSaveLink;
  senderSlot: SlotHistory;
  version: HistoryVersion;
  /** The receiver's saves of the game. */
  saves: GameSaves;
}

/** Finds the save of a link, in a game that the receiver may see too. */
async function findOffer(
  deps: SaveLinkDeps,
  { userId, token }: Receiver,
  picturesAddress: string,
): Promise<Offer> {
  const { pool } = deps.postgres;
  const link = await findOpenSaveLink(pool, linkTokenDigest(token), picturesAddress);
  if (link === undefined) throw noSuchLink();
  const { slug, senderId, slotId, versionId } = link;
  try {
    const saves = await findGameSaves(deps, pool, { userId, slug });
    const { slot: senderSlot } = await findSlotHistory(deps, pool, { userId: senderId, slug, slotId });
    return { link, senderSlot, version: requireVersion(senderSlot, versionId), saves };
  } catch (error) {
    if (error instanceof DomainError && error.code === "not_found") throw noSuchLink();
    throw error;
  }
}

function noSuchLink(): DomainError {
  return notFound("This link has expired, or it was already used. Ask for a new one.");
}

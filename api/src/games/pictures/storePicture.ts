import { createHash, randomUUID } from "node:crypto";
import type { PictureType } from "#contracts/http/partners.ts";
import { limits } from "#contracts/limits.ts";
import { pictureKey } from "#contracts/objectKeys.ts";
import type { Audit } from "../../audit/audit.ts";
import { DomainError, unavailable } from "../../errors.ts";
import { lockPartnerAccess, type PartnerPrincipal } from "../../partners/requirePartner.ts";
import type { ObjectStore } from "../../stores/objectStore.ts";
import type { Postgres } from "../../stores/postgres.ts";
import { gameAuditEvent } from "../gameAuditEvent.ts";
import type { GamePrecondition } from "../gameEtag.ts";
import type { PartnerGame } from "../partnerGameQueries.ts";
import { noSuchGame } from "../updateGame.ts";
import { readPictureFormat, type PictureFormat } from "./pictureFormat.ts";
import { PictureObjectStore } from "./pictureObjectStore.ts";
import {
  findCurrentPicture,
  insertPicture,
  lockPicturedGame,
  updateCurrentPicture,
  type StoredPicture,
} from "./pictureQueries.ts";

/** What storing a picture needs. */
export interface StorePictureDeps {
  postgres: Postgres;
  objectStore: ObjectStore;
  audit: Audit;
}

/** A picture as a client sent it. */
export interface SentPicture {
  type: PictureType;
  bytes: Buffer;
}

const { sideMin, sideMax } = limits.picture;

/**
 * Stores a picture and makes it the game's, or changes nothing. The same picture again is no change, but is
 * there again if it was lost. Throws invalid_picture, not_found, precondition_failed and unavailable, and
 * what requirePartner throws when the key was revoked meanwhile.
 */
export async function storePicture(
  deps: StorePictureDeps,
  partner: PartnerPrincipal,
  game: PartnerGame,
  sent: SentPicture,
  precondition?: GamePrecondition,
): Promise<StoredPicture> {
  precondition?.(game);
  const { width, height } = checkPicture(sent);
  const sha256 = createHash("sha256").update(sent.bytes).digest("hex");
  const pictures = new PictureObjectStore(deps.objectStore);
  const current = await findCurrentPicture(deps.postgres.pool, game.id);
  if (current?.sha256 === sha256) {
    await pictures.store(pictureKey(game.id, current.id), sent.bytes, sent.type);
    return current;
  }
  const picture = {
    id: randomUUID(),
    gameId: game.id,
    sha256,
    type: sent.type,
    sizeBytes: sent.bytes.length,
    width,
    height,
  };
  await insertPicture(deps.postgres.pool, picture);
  await pictures.store(pictureKey(game.id, picture.id), sent.bytes, sent.type);
  await switchPicture(deps, partner, game, picture.id, precondition);
  await deps.audit.record(
    gameAuditEvent("game.pictureStored", partner, game.id, { sizeBytes: picture.sizeBytes, sha256 }),
  );
  return picture;
}

/**
 * Takes the game's picture away; it succeeds also when the game has none. Throws not_found and
 * precondition_failed.
 */
export async function removePicture(
  deps: StorePictureDeps,
  partner: PartnerPrincipal,
  game: PartnerGame,
  precondition?: GamePrecondition,
): Promise<void> {
  precondition?.(game);
  if (game.pictureId === null) return;
  await switchPicture(deps, partner, game, null, precondition);
  await deps.audit.record(gameAuditEvent("game.pictureRemoved", partner, game.id));
}

async function switchPicture(
  { postgres }: StorePictureDeps,
  partner: PartnerPrincipal,
  game: PartnerGame,
  pictureId: string | null,
  precondition?: GamePrecondition,
): Promise<void> {
  await postgres.transaction(async (transaction) => {
    await lockPartnerAccess(transaction, partner);
    const revision = await lockPicturedGame(transaction, game.id);
    if (revision === undefined) throw noSuchGame(game.slug);
    precondition?.({ id: game.id, revision });
    if (!(await updateCurrentPicture(transaction, game.id, pictureId)))
      throw unavailable("Storing the picture took too long: send it again.");
  });
}

function checkPicture({ type, bytes }: SentPicture): PictureFormat {
  const format = readPictureFormat(bytes);
  if (format === undefined) throw invalidPicture(`The body is no whole picture of the type ${type}.`);
  if (format.type !== type)
    throw invalidPicture(`The body is ${format.type}, not ${type}: send the Content-Type that it has.`);
  const { width, height } = format;
  if (Math.min(width, height) < sideMin || Math.max(width, height) > sideMax) {
    throw invalidPicture(
      `The picture has ${width} × ${height} pixels: each side must have ${sideMin} to ${sideMax}.`,
    );
  }
  return format;
}

function invalidPicture(message: string): DomainError {
  return new DomainError("invalid_picture", { message });
}

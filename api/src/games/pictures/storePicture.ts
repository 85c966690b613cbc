import { createHash, randomUUID } from "node:crypto";
import type { PictureType } from "#contracts/http/partners.ts";
import { limits } from "#contracts/limits.ts";
import { pictureKey } from "#contracts/objectKeys.ts";
import type { Audit } from "../../audit/audit.ts";
import { DomainError, unavailable } from "../../errors.ts";
import { lockPartnerAccess, type PartnerPrincipal } from "../../partners/requirePartner.ts";
import { type ObjectStore, callObjectStore } from "../../stores/objectStore.ts";
import type { Postgres } from "../../stores/postgres.ts";
import { gameAuditEvent, noSuchGame } from "../updateGame.ts";
import type { GamePrecondition } from "../gameEtag.ts";
import { type PartnerGame, deletedGameKeptDays } from "../partnerGameQueries.ts";
import { readPictureFormat, type PictureFormat } from "../../http/pictureFormat.ts";
import {
  findCurrentPicture,
  insertPicture,
  lockPicturedGame,
  updateCurrentPicture,
  type StoredPicture,
  deletePicture,
  findUnusedPicture,
  pictureGraceSeconds,
} from "./pictureQueries.ts";
import type { Clock } from "#runtime/scheduling/clock.ts";
import type { Logger } from "#runtime/logger.ts";
import { RefusedRows, sweepRows } from "../../stores/sweepRows.ts";

/** Dependencies of storing a picture. */
export interface StorePictureDeps {
  postgres: Postgres;
  objectStore: ObjectStore;
  audit: Audit;
}

/** A picture as a client sent it. */
interface SentPicture {
  type: PictureType;
  bytes: Buffer;
}

const { sideMin, sideMax } = limits.picture;

/**
 * Stores a picture and assigns it to the game, or changes nothing. The same picture is a no-op, except that a
 * lost object is stored again.
 *
 * @throws invalid_picture, not_found, precondition_failed, unavailable, and what requirePartner throws when
 *   the key was revoked during the upload
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
 * Removes the game's picture. A no-op when the game has none.
 *
 * @throws not_found, precondition_failed
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
      throw unavailable("Storing the picture took too long. Send it again.");
  });
}

function checkPicture({ type, bytes }: SentPicture): PictureFormat {
  const format = readPictureFormat(bytes);
  if (format === undefined) throw invalidPicture(`The body is not a complete picture of type ${type}.`);
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

/** Timeout of a picture transfer, as a multiple of the timeout of other requests. */
const transferTimeouts = 6;

/** The games' pictures in the object store. Its methods throw unavailable when the object store fails. */
export class PictureObjectStore {
  readonly #objectStore: ObjectStore;

  constructor(objectStore: ObjectStore) {
    this.#objectStore = objectStore;
  }

  /** Stores a picture. */
  async store(key: string, bytes: Buffer, type: string): Promise<void> {
    const { client, bucket, timeoutMs } = this.#objectStore;
    await callObjectStore(
      client.putObject(bucket, key, bytes, bytes.length, { "Content-Type": type }),
      transferTimeouts * timeoutMs,
      "Storing a picture",
    );
  }

  /** Returns a picture of the given size. */
  async read(key: string, sizeBytes: number): Promise<Buffer> {
    const { timeoutMs } = this.#objectStore;
    return callObjectStore(this.#read(key, sizeBytes), transferTimeouts * timeoutMs, "Reading a picture");
  }

  /** Removes a picture. A no-op if it does not exist. */
  async remove(key: string): Promise<void> {
    const { client, bucket, timeoutMs } = this.#objectStore;
    await callObjectStore(client.removeObject(bucket, key), timeoutMs, "Removing a picture");
  }

  async #read(key: string, sizeBytes: number): Promise<Buffer> {
    const { client, bucket } = this.#objectStore;
    const stream = await client.getObject(bucket, key);
    const chunks: Buffer[] = [];
    let length = 0;
    for await (const chunk of stream as AsyncIterable<Buffer>) {
      length += chunk.length;
      if (length > sizeBytes) break;
      chunks.push(chunk);
    }
    if (length !== sizeBytes)
      throw new Error(`The picture ${key} is not the ${sizeBytes} bytes that were stored.`);
    return Buffer.concat(chunks);
  }
}

/** What sweeping pictures needs. */
export interface SweepPicturesDeps {
  logger: Logger;
  clock: Clock;
  postgres: Postgres;
  objectStore: ObjectStore;
}

/**
 * Removes pictures that were replaced or never became current, and those of games that can no longer be
 * restored.
 */
export async function sweepPictures(
  { postgres, objectStore, logger, clock }: SweepPicturesDeps,
  refused = new RefusedRows(clock),
): Promise<void> {
  const pictures = new PictureObjectStore(objectStore);
  await sweepRows<StoredPicture>(
    { postgres, refused },
    {
      claim: (db, except) =>
        findUnusedPicture(db, {
          graceSeconds: pictureGraceSeconds,
          deletedDays: deletedGameKeptDays,
          except,
        }),
      remove: ({ gameId, id }) => pictures.remove(pictureKey(gameId, id)),
      note: deletePicture,
      logRemoved: ({ id }) => logger.info({ picture: id }, "The sweeper removed an unused picture."),
      logRefused: ({ id }, error) =>
        logger.error(
          { err: error, picture: id },
          "The sweeper could not remove an unused picture; it will retry.",
        ),
    },
  );
}

import { defaultChannel } from "#contracts/http/gameChannels.ts";
import { limits } from "#contracts/limits.ts";
import { DomainError } from "../errors.ts";
import type { Queryable } from "../stores/queryable.ts";
import { upsertChannel } from "./channelQueries.ts";
import { updateCurrentVersion } from "./gameVersionQueries.ts";
import { recordActivated } from "./versionEvents.ts";

/**
 * Makes a channel of a (locked) game lead to a (locked) version, and creates it if necessary.
 *
 * @throws conflict when the game has too many channels
 */
export async function setChannelVersion(
  transaction: Queryable,
  gameId: string,
  name: string,
  versionId: string,
): Promise<void> {
  const { channels: channelsMax } = limits.partner;
  if (await upsertChannel(transaction, gameId, { name, versionId, channelsMax })) {
    await recordActivated(transaction, gameId, name, versionId);
    return;
  }
  throw new DomainError("conflict", {
    message: `A game has at most ${channelsMax} channels besides default. Remove one first.`,
  });
}

/** Makes a (locked) version the current one of its (locked) game, to which the channel `default` leads. */
export async function setCurrentVersion(
  transaction: Queryable,
  gameId: string,
  versionId: string,
): Promise<void> {
  await updateCurrentVersion(transaction, gameId, versionId);
  await recordActivated(transaction, gameId, defaultChannel, versionId);
}

import { limits } from "#contracts/limits.ts";
import { DomainError } from "../errors.ts";
import type { Queryable } from "../stores/queryable.ts";
import { upsertChannel } from "./channelQueries.ts";
import { recordWebhookEvent } from "../webhooks/eventQueries.ts";

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
    const data = { gameVersionId: versionId, channel: name };
    await recordWebhookEvent(transaction, gameId, { type: "version.activated", data });
    return;
  }
  throw new DomainError("conflict", {
    message: `A game has at most ${channelsMax} channels besides default. Remove one first.`,
  });
}

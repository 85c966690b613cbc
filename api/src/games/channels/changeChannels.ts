import { defaultChannel } from "#contracts/http/gameChannels.ts";
import { limits } from "#contracts/limits.ts";
import type { Audit } from "../../audit/audit.ts";
import { isEmail, normalizeEmail } from "../../auth/email.ts";
import { createLinkToken, linkTokenDigest } from "../../auth/linkToken.ts";
import { DomainError, invalidRequest, notFound } from "../../errors.ts";
import type { PartnerPrincipal } from "../../partners/requirePartner.ts";
import type { Postgres } from "../../stores/postgres.ts";
import type { Queryable } from "../../stores/queryable.ts";
import { deleteChannelRow, listChannels } from "../channelQueries.ts";
import { lockPartnerGame, type LockedPartnerGame } from "../partnerGameQueries.ts";
import { setChannelVersion } from "../setChannelVersion.ts";
import { syncGameCache, type SyncGameCachesDeps } from "../syncGameCaches.ts";
import { gameAuditEvent, noSuchGame } from "../updateGame.ts";
import { activateVersion, lockUsableVersion } from "../versions/activateVersion.ts";
import { insertPlayLink, insertTesters, openLink, type ListedPlayLink } from "./testerQueries.ts";

const { partner: most } = limits;

/** Dependencies of changing channels. */
export interface ChannelDeps extends SyncGameCachesDeps {
  postgres: Postgres;
  audit: Audit;
}

/** A channel of a partner's game. */
interface ChannelRef {
  slug: string;
  channel: string;
}

/**
 * Makes a channel lead to a kept version, and creates it if necessary. `default` is the current version.
 *
 * @throws not_found, conflict when the archive is no longer kept or the game has too many channels
 */
export async function setChannel(
  deps: ChannelDeps,
  partner: PartnerPrincipal,
  { slug, channel }: ChannelRef,
  versionId: string,
): Promise<void> {
  if (channel === defaultChannel) {
    await activateVersion(deps, partner, { slug, versionId });
    return;
  }
  const gameId = await changeGame(deps, partner, slug, async (transaction, game) => {
    await lockUsableVersion(transaction, game, versionId);
    await setChannelVersion(transaction, game.id, channel, versionId);
  });
  await deps.audit.record(
    gameAuditEvent("game.channelSet", partner, gameId, { channel, version: versionId }),
  );
  await followCache(deps, slug, gameId);
}

/**
 * Removes a channel with its testers and links. Running sessions go on.
 *
 * @throws not_found, conflict for `default`
 */
export async function removeChannel(
  deps: ChannelDeps,
  partner: PartnerPrincipal,
  { slug, channel }: ChannelRef,
): Promise<void> {
  if (channel === defaultChannel)
    throw new DomainError("conflict", {
      message: "Every game has the channel default. Make the game private to hide it from players.",
    });
  const gameId = await changeGame(deps, partner, slug, async (transaction, { id }) => {
    if (!(await deleteChannelRow(transaction, id, channel))) throw noSuchChannel(channel);
  });
  await deps.audit.record(gameAuditEvent("game.channelRemoved", partner, gameId, { channel }));
  await followCache(deps, slug, gameId);
}

/**
 * Opens a channel to accounts with these addresses, which may not exist yet. Idempotent.
 *
 * @throws not_found, invalid_request for an address that no account can have, conflict for too many testers
 */
export async function addTesters(
  deps: ChannelDeps,
  partner: PartnerPrincipal,
  { slug, channel }: ChannelRef,
  emails: readonly string[],
): Promise<string> {
  const addresses = emails.map(normalizeEmail);
  const wrong = addresses.findIndex((address) => !isEmail(address));
  if (wrong >= 0)
    throw invalidRequest("An address is not valid.", [
      { path: `emails.${wrong}`, message: "must be an e-mail address" },
    ]);
  const gameId = await changeGame(deps, partner, slug, async (transaction, game) => {
    await requireChannel(transaction, game.id, channel);
    const count = await insertTesters(transaction, game.id, channel, addresses);
    if (count > most.testers)
      throw new DomainError("conflict", {
        message: `A game has at most ${most.testers} testers. Remove others first, or use a play link.`,
      });
  });
  await deps.audit.record(
    gameAuditEvent("game.testersAdded", partner, gameId, { channel, testers: addresses.length }),
  );
  return gameId;
}

/** A new link with its secret token. */
export interface NewLink {
  link: ListedPlayLink;
  token: string;
}

/**
 * Creates a link that opens a channel for some hours.
 *
 * @throws not_found, conflict for too many links
 */
export async function createPlayLink(
  deps: ChannelDeps,
  partner: PartnerPrincipal,
  { slug, channel }: ChannelRef,
  hours: number,
): Promise<NewLink> {
  const { token, digest: tokenHash } = createLinkToken();
  let link: ListedPlayLink | undefined;
  const gameId = await changeGame(deps, partner, slug, async (transaction, game) => {
    await requireChannel(transaction, game.id, channel);
    link = await insertPlayLink(transaction, {
      gameId: game.id,
      channel,
      tokenHash,
      hours,
      linksMax: most.playLinks,
    });
  });
  if (link === undefined)
    throw new DomainError("conflict", {
      message: `A game has at most ${most.playLinks} play links. Remove one, or wait until one expires.`,
    });
  await deps.audit.record(
    gameAuditEvent("game.playLinkCreated", partner, gameId, { channel, link: link.id }),
  );
  return { link, token };
}

/**
 * Opens a link to a player and returns its game and channel. Idempotent.
 *
 * @throws not_found when it is unknown or has expired, conflict when too many players have opened it
 */
export async function openPlayLink(
  { postgres }: { postgres: Postgres },
  userId: string,
  token: string,
): Promise<{ gameSlug: string; channel: string }> {
  const opened = await openLink(postgres.pool, userId, {
    tokenHash: linkTokenDigest(token),
    playersMax: most.playLinkPlayers,
  });
  if (opened === undefined) throw notFound("This link does not exist or has expired.");
  const { isOpened, ...target } = opened;
  if (!isOpened)
    throw new DomainError("conflict", {
      message: "Too many players have opened this link. Ask its sender for a new one.",
    });
  return target;
}

/** Returns the 404 for a channel that the game does not have. */
function noSuchChannel(channel: string): DomainError {
  return notFound(`The game has no channel ${channel}.`);
}

async function requireChannel(db: Queryable, gameId: string, channel: string): Promise<void> {
  const channels = await listChannels(db, gameId);
  if (!channels.some(({ name }) => name === channel)) throw noSuchChannel(channel);
}

/** Runs `change` with the locked game and returns the game's id. */
async function changeGame(
  { postgres }: ChannelDeps,
  partner: PartnerPrincipal,
  slug: string,
  change: (transaction: Queryable, game: LockedPartnerGame) => Promise<void>,
): Promise<string> {
  return postgres.transaction(async (transaction) => {
    const game = await lockPartnerGame(transaction, partner.id, slug);
    if (game === undefined) throw noSuchGame(slug);
    await change(transaction, game);
    return game.id;
  });
}

async function followCache(deps: ChannelDeps, slug: string, gameId: string): Promise<void> {
  // If this fails, the leader's next pass does it.
  await syncGameCache(deps, gameId).catch((error: unknown) => {
    deps.logger.warn(
      { err: error, game: slug },
      "The API could not update a game's GameCache yet; it will retry.",
    );
  });
}

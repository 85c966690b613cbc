import { Option, type Command } from "commander";
import { defaultChannel } from "#contracts/http/gameChannels.ts";
import { notFound } from "../errors.ts";
import {
  findGameDetails,
  type GameDetails,
  type GameState,
  gameStates,
  listGames,
} from "../games/gameListQueries.ts";
import { hideGame, unhideGame } from "../games/hideGames.ts";
import { activateVersionForAdmin } from "../games/versions/activateVersion.ts";
import { listVersions } from "../games/versions/versionQueries.ts";
import { findPartnerIdOf } from "../partners/partnerQueries.ts";
import type { AddCommand, CliEnvironment, Json } from "./environment.ts";
import { type ListOptions, printDetails, printList, timeOf, toPage, withPaging } from "./paging.ts";

interface ListGamesOptions extends ListOptions {
  search?: string;
  partner?: string;
  state?: GameState;
}

/** Adds `joypod game …`. */
export function addGameCommands(command: AddCommand, program: Command, environment: CliEnvironment): void {
  const game = program.command("game").description("games of all partners");
  withPaging(command(game, "list", "list games by slug, without deleted ones"), "slug")
    .option("--search <text>", "only games with this text in their slug, title or developer")
    .option("--partner <name or id>", "only games of this partner")
    .addOption(new Option("--state <state>", "only games in this state").choices(gameStates))
    .action(async ({ search, partner, state, after, limit, ...options }: ListGamesOptions) => {
      const { pool } = environment.stores().postgres;
      const partnerId = partner === undefined ? undefined : await resolvePartner(environment, partner);
      const filter = { search, partnerId, state, after, limit: limit + 1 };
      printList(
        environment,
        {
          name: "games",
          page: toPage(await listGames(pool, filter), limit, ({ slug }) => slug),
          headings: ["SLUG", "TITLE", "PARTNER", "STATE", "PLAYING", "LAUNCHES"],
          cellsOf: ({ slug, title, partner: name, state: shown, activeSessions, launches }) => [
            slug,
            title,
            name,
            shown,
            activeSessions,
            launches,
          ],
        },
        options,
      );
    });
  addHideCommands(command, game, environment);
  addVersionCommands(command, game, environment);
  command(game, "show", "show a game: state, partner, archive and use")
    .argument("<slug>")
    .action(async (slug: string, options: Json) => {
      const found = await findGameDetails(environment.stores().postgres.pool, slug);
      if (found === undefined) throw notFound(`There is no game ${slug}.`);
      printDetails(
        environment,
        found,
        [
          ["Slug", found.slug],
          ["Title", found.title],
          ["Id", found.id],
          ["Developer", found.developer],
          ["Partner", found.partner],
          ["State", found.state],
          ["Visibility", found.visibility],
          ["Hidden", found.hiddenAt],
          ["Reason", found.hiddenReason],
          ["Groups", found.groups && (found.groups.join(", ") || "nobody")],
          ["Network", found.network],
          ["Archive", archiveOf(found)],
          ["Created", found.createdAt],
          ["Changed", found.updatedAt],
          ["Deleted", found.deletedAt],
          ["Playing", found.activeSessions],
          ["Launches", `${found.launches} in 30 days`],
          ["Favourites", found.favorites],
          ["Save slots", found.saveSlots],
        ],
        options,
      );
    });
}

function addHideCommands(command: AddCommand, game: Command, environment: CliEnvironment): void {
  command(game, "hide", "hide a game from players from their next request on; running sessions continue")
    .argument("<slug>")
    .option("--reason <text>", "what the game's partner reads about it")
    .action(async (slug: string, { reason, ...options }: Json & { reason?: string }) => {
      const hidden = await hideGame(environment.stores(), slug, reason);
      environment.print({ ...hidden }, `The game ${slug} is hidden.`, options.json === true);
    });
  command(game, "unhide", "show a hidden game to players again")
    .argument("<slug>")
    .action(async (slug: string, options: Json) => {
      const shown = await unhideGame(environment.stores(), slug);
      environment.print({ ...shown }, `The game ${slug} is not hidden.`, options.json === true);
    });
}

function addVersionCommands(command: AddCommand, game: Command, environment: CliEnvironment): void {
  command(game, "versions", "list the newest versions of a game, newest first")
    .argument("<slug>")
    .action(async (slug: string, options: Json) => {
      const { pool } = environment.stores().postgres;
      const found = await findGameDetails(pool, slug);
      if (found === undefined) throw notFound(`There is no game ${slug}.`);
      printList(
        environment,
        {
          name: "versions",
          page: { rows: await listVersions(pool, found.id), after: null },
          headings: ["ID", "UPLOADED", "LABEL", "CHANNELS", "ARCHIVE", "PLAYING"],
          cellsOf: ({ id, createdAt, label, isCurrent, channels, isStored, activeSessions }) => [
            id,
            timeOf(createdAt),
            label ?? "",
            [...(isCurrent ? [defaultChannel] : []), ...channels].join(", "),
            isStored ? "kept" : "removed",
            activeSessions,
          ],
        },
        options,
      );
    });
  command(game, "activate", "make a kept version current, older or newer; running sessions keep theirs")
    .argument("<slug>")
    .argument("<version id>")
    .action(async (slug: string, versionId: string, options: Json) => {
      await activateVersionForAdmin(environment.stores(), { slug, versionId });
      environment.print(
        { slug, versionId },
        `The version ${versionId} of ${slug} is current.`,
        options.json === true,
      );
    });
}

async function resolvePartner(environment: CliEnvironment, nameOrId: string): Promise<string> {
  const id = await findPartnerIdOf(environment.stores().postgres.prisma, nameOrId);
  if (id === undefined) throw notFound(`There is no partner ${nameOrId}.`);
  return id;
}

function archiveOf({ sha256, sizeBytes, uploadedAt }: GameDetails): string | null {
  if (sha256 === null || uploadedAt === null) return null;
  return `${sizeBytes} bytes, ${timeOf(uploadedAt)}, sha256:${sha256}`;
}

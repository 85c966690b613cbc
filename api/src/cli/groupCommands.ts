import { type Command, InvalidArgumentError } from "commander";
import { type ListedGroup, listGroups } from "../groups/groupQueries.ts";
import {
  addToGroup,
  createGroup,
  deleteGroup,
  limitGroup,
  removeFromGroup,
  requireGroup,
  restrictGame,
  unrestrictGame,
} from "../groups/groups.ts";
import type { AddCommand, CliEnvironment, Json } from "./environment.ts";
import { type ListOptions, printDetails, printList, toPage, withPaging } from "./paging.ts";

/** Adds `joypod group …`. */
export function addGroupCommands(command: AddCommand, program: Command, environment: CliEnvironment): void {
  const group = program.command("group").description("groups of players, and the games that only they see");
  addListCommands(command, group, environment);
  command(group, "create", "create a group; exit code 3 if the name exists")
    .argument("<name>")
    .action(async (name: string, options: Json) => {
      const created = await createGroup(environment.stores(), name);
      environment.print({ ...created }, `Created the group ${created.name}.`, options.json === true);
    });
  command(group, "delete", "delete a group; games that only it sees stay restricted, so nobody sees them")
    .argument("<name>")
    .action(async (name: string, options: Json) => {
      const { id, gameSlugs } = await deleteGroup(environment.stores(), name);
      const games =
        gameSlugs.length === 0
          ? ""
          : ` These games were restricted to it: ${gameSlugs.join(", ")}. Restrict them to another group, or unrestrict them.`;
      environment.print({ id, name, gameSlugs }, `Deleted the group ${name}.${games}`, options.json === true);
    });
  command(group, "add", "add players to a group")
    .argument("<group>")
    .argument("<emails...>", "the players' addresses")
    .action(async (name: string, emails: string[], options: Json) => {
      const changed = await addToGroup(environment.stores(), name, emails);
      environment.print(
        { ...changed },
        `Players who joined ${name}: ${changed.changed}.`,
        options.json === true,
      );
    });
  command(group, "remove", "remove players from a group")
    .argument("<group>")
    .argument("<emails...>", "the players' addresses")
    .action(async (name: string, emails: string[], options: Json) => {
      const changed = await removeFromGroup(environment.stores(), name, emails);
      environment.print(
        { ...changed },
        `Players who left ${name}: ${changed.changed}.`,
        options.json === true,
      );
    });
  command(group, "limit", "limit how long the members may play; running sessions are not changed")
    .argument("<name>")
    .option("--hours-per-day <hours>", "up to 24, or none for the site's limit", toHours)
    .option("--hours-per-month <hours>", "up to 744, or none for the site's limit", toHours)
    .action(async (name: string, { hoursPerDay, hoursPerMonth, ...options }: LimitOptions) => {
      const hours = { perDay: orSite(hoursPerDay), perMonth: orSite(hoursPerMonth) };
      const limited = await limitGroup(environment.stores(), name, hours);
      const { id, playSecondsPerDay, playSecondsPerMonth } = limited;
      environment.print(
        { id, name, playSecondsPerDay, playSecondsPerMonth },
        `Play time of ${name}: ${playTimeOf(limited) ?? "the site's limits"}.`,
        options.json === true,
      );
    });
  addRestrictCommands(command, group, environment);
}

interface LimitOptions extends Json {
  hoursPerDay?: Hours;
  hoursPerMonth?: Hours;
}

/** Commander replaces null by an empty text. */
type Hours = number | "none";

function orSite(hours: Hours | undefined): number | null | undefined {
  return hours === "none" ? null : hours;
}

function toHours(text: string): Hours {
  if (text === "none") return text;
  if (!/^\d{1,3}(\.\d{1,4})?$/.test(text))
    throw new InvalidArgumentError("Must be hours, such as 2.5, or none.");
  return Number(text);
}

/** Returns the limits of the members' play time; null if the site's apply. */
function playTimeOf({ playSecondsPerDay, playSecondsPerMonth }: ListedGroup): string | null {
  const limitOf = (seconds: number | null, period: string): string[] =>
    seconds === null ? [] : [`${Number((seconds / 3600).toFixed(2))} h per ${period}`];
  return [...limitOf(playSecondsPerDay, "day"), ...limitOf(playSecondsPerMonth, "month")].join(", ") || null;
}

function addListCommands(command: AddCommand, group: Command, environment: CliEnvironment): void {
  withPaging(command(group, "list", "list groups by name"), "name")
    .option("--search <text>", "only groups with this text in their name")
    .action(async ({ search, after, limit, ...options }: ListOptions & { search?: string }) => {
      const rows = await listGroups(environment.stores().postgres.pool, { search, after, limit: limit + 1 });
      printList(
        environment,
        {
          name: "groups",
          page: toPage(rows, limit, ({ name }) => name),
          headings: ["NAME", "MEMBERS", "GAMES", "PLAY TIME", "CREATED"],
          cellsOf: (listed) => [
            listed.name,
            listed.members,
            listed.games,
            playTimeOf(listed),
            listed.createdAt,
          ],
        },
        options,
      );
    });
  command(group, "show", "show a group with its members and games")
    .argument("<name>")
    .action(async (name: string, options: Json) => {
      const found = await requireGroup(environment.stores().postgres.pool, name);
      printDetails(
        environment,
        found,
        [
          ["Name", found.name],
          ["Id", found.id],
          ["Created", found.createdAt],
          ["Members", `${found.members}${found.members === 0 ? "" : `: ${found.memberEmails.join(", ")}`}`],
          ["Games", found.gameSlugs.join(", ") || null],
          ["Play time", playTimeOf(found) ?? "as on the whole site"],
        ],
        options,
      );
    });
}

function addRestrictCommands(command: AddCommand, group: Command, environment: CliEnvironment): void {
  command(group, "restrict", "show a game only to the members of these groups; running sessions continue")
    .argument("<slug>", "the game")
    .argument("<groups...>", "all groups that see it")
    .action(async (slug: string, names: string[], options: Json) => {
      const restricted = await restrictGame(environment.stores(), slug, names);
      environment.print(
        { ...restricted },
        `The game ${slug} is restricted to ${restricted.groups.join(", ")}.`,
        options.json === true,
      );
    });
  command(group, "unrestrict", "show a game to all players again")
    .argument("<slug>", "the game")
    .action(async (slug: string, options: Json) => {
      const open = await unrestrictGame(environment.stores(), slug);
      environment.print({ ...open }, `All players see the game ${slug}.`, options.json === true);
    });
}

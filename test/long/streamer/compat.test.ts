import { readdirSync } from "node:fs";
import { join } from "node:path";
import { repositoryRoot } from "#test/support/processes/programs.ts";
import { declareCompatTests, shortCompatGames } from "#test/support/session/compatSuite.ts";

const games = readdirSync(join(repositoryRoot, "games/compat")).filter(
  (name) => !shortCompatGames.includes(name),
);

describe("a game packed with", () => {
  declareCompatTests(games);
});

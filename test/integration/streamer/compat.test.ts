import { declareCompatTests, shortCompatGames } from "#test/support/session/compatSuite.ts";

describe("a game packed with", () => {
  declareCompatTests(shortCompatGames);
});

import { execFileSync } from "node:child_process";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { temporaryFolder } from "../processes/temporaryFolder.ts";
import { compileSupervisor } from "./compileC.ts";
import { superviseGame, type SupervisedGame } from "./supervisedGame.ts";

/** How a launcher is installed, and the game's environment. */
interface LaunchOptions {
  mode?: number;
  environment?: Record<string, string>;
  /** A program that executes the supervisor, whose path it gets before the launcher's. */
  runner?: string;
  /** A running display. */
  display?: string;
}

/** Starts the games of a suite's tests. */
export interface SupervisedLaunches {
  /** Starts the program at this path. */
  supervise: (launcher: string, options?: Omit<LaunchOptions, "mode">) => Promise<SupervisedGame>;
  /** Starts a launcher with this text, a `play.sh` in a new folder. */
  launch: (text: string, options?: LaunchOptions) => Promise<SupervisedGame>;
}

/** Compiles the supervisor once for all tests of the suite. A test's games are removed after the test. */
export function supervisedLaunches(): SupervisedLaunches {
  let supervisor: string;
  const games: SupervisedGame[] = [];

  before(async () => {
    supervisor = await compileSupervisor();
  });
  afterEach(async () => {
    for (const game of games.splice(0)) await game.remove();
  });

  async function supervise(
    launcher: string,
    { environment, runner, display }: Omit<LaunchOptions, "mode"> = {},
  ): Promise<SupervisedGame> {
    const [program, args] =
      runner === undefined ? [supervisor, [launcher]] : [runner, [supervisor, launcher]];
    const game = await superviseGame(program, args, environment, display);
    games.push(game);
    return game;
  }
  return {
    supervise,
    async launch(text, { mode = 0o755, ...options } = {}) {
      const folder = temporaryFolder("launcher");
      execFileSync("chmod", ["755", folder]);
      await writeFile(join(folder, "play.sh"), text, { mode });
      return supervise(join(folder, "play.sh"), options);
    },
  };
}

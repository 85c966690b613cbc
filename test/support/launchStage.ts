import { expect } from "chai";
import { aGame, aUser, type GameOverrides, type TestGame, type TestUser } from "../factories/catalog.ts";
import { TestApi, type TestApiOptions } from "./api.ts";
import type { ApiClient } from "./apiClient.ts";
import { eventually } from "./eventually.ts";
import { operatorOf, type PlayedOperator } from "./playedOperator.ts";

export interface LaunchStageOptions extends Pick<TestApiOptions, "env"> {
  /** Of the played cluster's node; 0 for a cluster without one. */
  slots?: number;
  game?: GameOverrides;
}

/** An API before a played cluster that has room for sessions, and a game; the player is new for each test. */
export class LaunchStage {
  readonly api: TestApi;
  readonly operator: PlayedOperator;
  readonly game: TestGame;
  user!: TestUser;
  player!: ApiClient;

  private constructor(api: TestApi, operator: PlayedOperator, game: TestGame) {
    this.api = api;
    this.operator = operator;
    this.game = game;
  }

  static async start({ slots = 100, game, env = {} }: LaunchStageOptions = {}): Promise<LaunchStage> {
    const api = await TestApi.start({ kube: true, env });
    const stage = new LaunchStage(api, operatorOf(api), await aGame(api.deps, game));
    if (slots > 0) await stage.addNode(slots);
    return stage;
  }

  /** A game node that the API knows of; gives its name. */
  async addNode(slots: number): Promise<string> {
    const name = await this.operator.addNode(slots);
    const { store } = this.api.deps.cluster.gameNodes;
    await eventually(() => store.list().some(({ metadata, status }) => metadata.name === name && status?.capacity !== undefined), { what: "the API to see the node" });
    return name;
  }

  async newPlayer(): Promise<void> {
    this.user = await aUser(this.api.deps);
    this.player = this.api.as(this.user);
  }

  /** The id of a session that the player launches; of the stage's game unless the body names another. */
  async launched(body: object = {}): Promise<string> {
    const response = await this.player.post("/api/game/launch", { gameSlug: this.game.slug, ...body });
    expect(response.status, response.text).to.equal(202);
    return response.json<{ sessionId: string }>().sessionId;
  }

  /** The same, of one that can be played. */
  async running(): Promise<string> {
    const id = await this.launched();
    await this.makeReady(id);
    return id;
  }

  /** As the operator, lets the session run, until the API says so. */
  async makeReady(id: string): Promise<void> {
    await this.operator.makeReady(id);
    await eventually(async () => (await this.rowOf(id)).status === "running", { what: "the session to run" });
  }

  /** Waits for the API to have recorded the session's end. */
  async ended(id: string): Promise<void> {
    await eventually(async () => (await this.rowOf(id)).endedAt !== null, { what: "the session's end" });
  }

  async rowOf(id: string) {
    return this.api.deps.postgres.prisma.gameSession.findUniqueOrThrow({ where: { id } });
  }

  async stop(): Promise<void> {
    await this.operator.removeNodes();
    await this.api.stop();
  }
}

import { networkInterfaces } from "node:os";
import { aGame } from "../factories/catalog.ts";
import { TestApi } from "./api.ts";
import { eventually } from "./eventually.ts";
import { operatorOf, type PlayedOperator } from "./playedOperator.ts";
import { buildGame, prepareSessionImages, type SessionImages } from "./session/containers.ts";
import { givePodAddress } from "./session/podAddress.ts";
import { startSessionPair, type SessionPair } from "./session/sessionPair.ts";
import { buildWeb } from "./web.ts";

/** The pods' address; a suite has one pod at a time. */
const podIp = "127.78.0.1";

/** What the play page needs around it: the API with the web app, a played operator, and a session's real containers with the test card. */
export class PlayStage {
  readonly api: TestApi;
  readonly operator: PlayedOperator;
  readonly #images: SessionImages;
  readonly #archive: string;
  #leave: (() => Promise<void>) | undefined;

  private constructor(api: TestApi, images: SessionImages, archive: string) {
    this.api = api;
    this.operator = operatorOf(api);
    this.#images = images;
    this.#archive = archive;
  }

  /** May build images and the game: allow `imageBuildMs`. */
  static async start(): Promise<PlayStage> {
    const images = await prepareSessionImages();
    const archive = await buildGame("testcard", images.game);
    const stage = new PlayStage(await TestApi.start({ kube: true, env: { WEB_ROOT: await buildWeb() } }), images, archive);
    await stage.operator.addNode(100);
    await eventually(() => stage.api.deps.cluster.gameNodes.store.size > 0);
    await aGame(stage.api.deps, { slug: "testcard", title: "Test card" });
    return stage;
  }

  /** Starts the containers of a session's pod at the pods' address. */
  async startPod(): Promise<SessionPair> {
    const pair = await startSessionPair({
      images: this.#images, game: { archive: this.#archive, launcher: "testcard.sh" }, streamerEnv: { ANNOUNCE_ADDRESS: ownAddress() },
    });
    const giveBack = await givePodAddress(podIp, pair.signalUrl);
    this.#leave = async () => {
      await giveBack();
      await pair.remove();
    };
    return pair;
  }

  async removePod(): Promise<void> {
    await this.#leave?.();
    this.#leave = undefined;
  }

  /** As the operator, says that the streamer of that pod runs; the session does not yet. */
  async letConnect(sessionId: string): Promise<void> {
    await this.operator.startStreamer(sessionId, podIp);
  }

  /** As the operator, lets the session run in that pod. */
  async letRun(sessionId: string): Promise<void> {
    await this.operator.makeReady(sessionId, { podIp });
  }

  async stop(): Promise<void> {
    await this.removePod();
    await this.operator.removeNodes();
    await this.api.stop();
  }
}

/** Firefox sends media from its default address only, and nothing from there to a loopback one: the machine's own reaches this machine too. */
function ownAddress(): string {
  const addresses = Object.values(networkInterfaces()).flatMap((list) => list ?? []);
  return addresses.find(({ family, internal }) => family === "IPv4" && !internal)?.address ?? "127.0.0.1";
}

import { eventually } from "../clocks/eventually.ts";
import { prepareSessionImages, type SessionImages } from "../session/containers.ts";
import { responderKey } from "../session/responderKey.ts";
import type { TestHost } from "./namespaces.ts";

const signalPort = 8080;
/** The chart's command. */
const command = ["--", "/usr/local/bin/node", "/app/session/streamer/src/connectionTest/main.ts"];

/**
 * The responder of connection tests on a game node of the test network. Runs in its image, whose transport
 * supports Chromium's checks over TCP.
 */
export class NetworkResponder {
  /** Environment of an API that uses this responder. */
  readonly apiEnv: Record<string, string>;
  readonly #engine: SessionImages["engine"];
  readonly #container: string;

  private constructor(apiEnv: Record<string, string>, engine: SessionImages["engine"], container: string) {
    this.apiEnv = apiEnv;
    this.#engine = engine;
    this.#container = container;
  }

  /** Starts it with this UDP port. Resolves once it responds. */
  static async start({ namespace, ipv4, ipv6 }: TestHost, udpPort: number): Promise<NetworkResponder> {
    const { engine, streamer } = await prepareSessionImages();
    const key = responderKey();
    const environment = {
      SIGNAL_PORT: String(signalPort),
      UDP_PORT: String(udpPort),
      NODE_NAME: "node1",
      HOST_IPS: `${ipv4},${ipv6}`,
      ...key.responderEnv,
    };
    const container = `joypod-test-responder-${namespace}`;
    const url = `http://${ipv4}:${signalPort}`;
    await engine(
      "run",
      "--detach",
      "--name",
      container,
      "--network",
      `ns:/run/netns/${namespace}`,
      "--entrypoint",
      "/usr/bin/tini",
      ...Object.entries(environment).flatMap(([name, value]) => ["--env", `${name}=${value}`]),
      streamer,
      ...command,
    );
    const responder = new NetworkResponder({ CONNECTION_TEST_URL: url, ...key.apiEnv }, engine, container);
    try {
      await eventually(async () => (await fetch(`${url}/readyz`)).ok, {
        timeoutMs: 30_000,
        what: "a responder that is ready",
      });
    } catch (error) {
      await responder.stop();
      throw error;
    }
    return responder;
  }

  async stop(): Promise<void> {
    await this.#engine("rm", "--force", "--time", "0", this.#container);
  }
}

import { chmodSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { isIPv6 } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Browser } from "playwright-core";
import { launchBrowser } from "../browser/browser.ts";
import { PlayFixture } from "../fixtures/playFixture.ts";
import { CertificateAuthority } from "../http/certificates.ts";
import { TestNetwork } from "./namespaces.ts";
import { NetworkResponder } from "./networkResponder.ts";
import { TurnRelay } from "./turnRelay.ts";

const mediaPort = 20_000;
const connectionTestPort = mediaPort + 1;
const playName = "play.test";

/**
 * A play setup over a network: the API in this process, and on separate machines the streamer with the
 * responder of connection tests, the relay, and the player's browser.
 */
export class PlayNetwork {
  readonly network: TestNetwork;
  readonly relay: TurnRelay;
  readonly fixture: PlayFixture;
  readonly #responder: NetworkResponder;
  readonly #folder = mkdtempSync(join(tmpdir(), "joypod-browser-"));

  private constructor(
    { network, relay, fixture }: Pick<PlayNetwork, "network" | "relay" | "fixture">,
    responder: NetworkResponder,
  ) {
    this.network = network;
    this.relay = relay;
    this.fixture = fixture;
    this.#responder = responder;
  }

  /**
   * `urls` are the relay's URLs without its host, such as `turn:3478?transport=udp`. May build images, so
   * allow `imageBuildMs`.
   */
  static async start(urls: readonly string[] = allUrls): Promise<PlayNetwork> {
    const network = await TestNetwork.create();
    try {
      return await PlayNetwork.#startOn(network, urls);
    } catch (error) {
      await network.remove();
      throw error;
    }
  }

  static async #startOn(network: TestNetwork, urls: readonly string[]): Promise<PlayNetwork> {
    const authority = await CertificateAuthority.create();
    const hosts = [network.relay.ipv4, network.relay.ipv6];
    const certificate = await authority.server(
      "relay",
      hosts.map((host) => `IP:${host}`),
    );
    const relay = await TurnRelay.start({
      host: network.relay,
      peerPorts: `${mediaPort}-${mediaPort + 9}`,
      certificate,
    });
    const addresses = [network.node.ipv4, network.node.ipv6];
    await relay.tell(addresses);
    const responder = await NetworkResponder.start(network.node, connectionTestPort);
    const fixture = await PlayFixture.start({
      publicName: playName,
      // Addresses, because Chromium resolves relay hosts without its host resolver rules.
      apiEnv: {
        TURN_URLS: urls.flatMap((url) => hosts.map((host) => atHost(url, host))).join(","),
        TURN_SECRET: relay.secret,
        ...responder.apiEnv,
      },
      streamer: {
        network: { namespace: network.node.namespace, address: network.node.ipv4, udpPort: mediaPort },
        addresses,
      },
    });
    return new PlayNetwork({ network, relay, fixture }, responder);
  }

  /** Starts the player's browser. `family` is the address family that it uses for the API. */
  async launchBrowser(family: "ipv4" | "ipv6" = "ipv4"): Promise<Browser> {
    const executablePath = join(this.#folder, "chromium");
    writeFileSync(
      executablePath,
      `#!/bin/sh\nexec ip netns exec ${this.network.client.namespace} ${process.env["CHROMIUM"] ?? "/usr/bin/chromium"} "$@"\n`,
    );
    chmodSync(executablePath, 0o755);
    const rules = `MAP ${playName} ${inUrl(this.network.own[family])}`;
    // Browsers do not know the CA of the relay's certificate.
    return launchBrowser({
      executablePath,
      flags: [`--host-resolver-rules=${rules}`, "--ignore-certificate-errors"],
    });
  }

  async stop(): Promise<void> {
    await this.fixture.stop();
    await this.#responder.stop();
    await this.relay.stop();
    await this.network.remove();
    rmSync(this.#folder, { recursive: true, force: true });
  }
}

/** The relay's URLs in the chart, without its host. */
export const allUrls = [
  "turn:3478?transport=udp",
  "turn:3478?transport=tcp",
  "turns:443?transport=tcp",
] as const;

/** Returns a relay URL with its host. */
function atHost(url: string, host: string): string {
  return url.replace(/^(turns?):/, `$1:${inUrl(host)}:`);
}

function inUrl(address: string): string {
  return isIPv6(address) ? `[${address}]` : address;
}

import { randomBytes } from "node:crypto";
import { copyFileSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { iceServersFor } from "#api/stream/iceServers.ts";
import { gameNodesNotice } from "#operator/relay/tellRelays.ts";
import { ChildProgram } from "../processes/childProgram.ts";
import { programPath } from "../processes/programs.ts";
import type { KeyPair } from "../http/certificates.ts";
import type { TestHost } from "./namespaces.ts";

const day = 86_400;
/** Lifetime of test credentials, in seconds. */
const lifetimeSeconds = 3_600;

/** Ports of the relay. TLS uses the HTTPS port, like the chart's Service. */
export const relayPorts = { plain: 3478, tls: 443, control: 8086 } as const;

export interface TurnRelayOptions {
  host: TestHost;
  /** Allowed UDP ports of game nodes. */
  peerPorts: string;
  certificate?: KeyPair;
  /** Additional environment variables. */
  env?: Record<string, string>;
}

/** The chart's relay on a machine of the test network. */
export class TurnRelay {
  readonly secret = randomBytes(32).toString("base64");
  readonly address: string;
  readonly #program: ChildProgram;
  readonly #folder = mkdtempSync(join(tmpdir(), "joypod-turn-"));

  private constructor({ host, peerPorts, certificate, env = {} }: TurnRelayOptions, program: string) {
    this.address = host.ipv4;
    if (certificate !== undefined) {
      copyFileSync(certificate.certificateFile, join(this.#folder, "tls.crt"));
      copyFileSync(certificate.keyFile, join(this.#folder, "tls.key"));
    }
    this.#program = new ChildProgram({
      command: "ip",
      args: ["netns", "exec", host.namespace, program],
      install: "install the Debian package iproute2.",
      env: {
        PATH: process.env["PATH"],
        TURN_SECRET: this.secret,
        PEER_PORTS: peerPorts,
        LISTEN_TLS: `:${relayPorts.tls}`,
        ...(certificate !== undefined && { TLS_FOLDER: this.#folder }),
        ...env,
      },
      isReady: async () => (await fetch(`http://${this.address}:${relayPorts.control}/healthz`)).ok,
    });
  }

  static async start(options: TurnRelayOptions): Promise<TurnRelay> {
    const relay = new TurnRelay(options, await programPath("turn"));
    await relay.#program.start();
    return relay;
  }

  /** As the operator, sends the game nodes to the relay. Returns the response's status. */
  async tell(
    addresses: readonly string[],
    { secret = this.secret, at = new Date() }: { secret?: string; at?: Date } = {},
  ): Promise<number> {
    const response = await fetch(`http://${this.address}:${relayPorts.control}/game-nodes`, {
      method: "PUT",
      ...gameNodesNotice(addresses, secret, at),
    });
    return response.status;
  }

  /** True if the program has exited. */
  get hasEnded(): boolean {
    return this.#program.hasEnded;
  }

  async isReady(): Promise<boolean> {
    return (await fetch(`http://${this.address}:${relayPorts.control}/readyz`)).ok;
  }

  /** Returns the value of a metric. */
  async metric(name: string): Promise<number> {
    return Number(new RegExp(`^${name} (\\d+)$`, "m").exec(await this.metrics())?.[1]);
  }

  /** Returns all metrics in Prometheus' text format. */
  async metrics(): Promise<string> {
    return (await fetch(`http://${this.address}:${relayPorts.control}/metrics`)).text();
  }

  /** Returns the lines that it has written so far. */
  logLines(): string[] {
    return readFileSync(this.#program.logFile, "utf8").trim().split("\n");
  }

  /** As the API, creates credentials for a player at the given time. */
  login(userId = "player", now = new Date(), secret = this.secret): { username: string; credential: string } {
    const turn = { relay: { urls: ["turn:unused"], secret }, lifetimeSeconds };
    const {
      iceServers: [server],
    } = iceServersFor({ config: { turn }, clock: { now: () => now } }, userId);
    return { username: server?.username ?? "", credential: server?.credential ?? "" };
  }

  /** Returns credentials that expired a day ago. */
  expiredLogin(): { username: string; credential: string } {
    return this.login("player", new Date(Date.now() - day * 1_000));
  }

  /** Returns a player's credentials that expire in this many seconds. */
  loginThatEndsIn(seconds: number, userId: string): { username: string; credential: string } {
    return this.login(userId, new Date(Date.now() - (lifetimeSeconds - seconds) * 1_000));
  }

  async stop(): Promise<void> {
    await this.#program.stop();
    rmSync(this.#folder, { recursive: true, force: true });
  }
}

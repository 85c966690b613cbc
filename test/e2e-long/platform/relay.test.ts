import { randomBytes } from "node:crypto";
import { copyFileSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect } from "chai";
import type { Browser } from "playwright-core";
import { launchBrowser, openWindow, type TestWindow } from "#test/support/browser/browser.ts";
import { connectionPathOf } from "#test/support/browser/connectionPath.ts";
import { pageScript } from "#test/support/browser/pageScripts.ts";
import { TestCard } from "#test/support/browser/testCard.ts";
import { eventually } from "#test/support/clocks/eventually.ts";
import { guideBlock } from "#test/support/fixtures/guides.ts";
import { CertificateAuthority } from "#test/support/http/certificates.ts";
import { PlayerHttp } from "#test/support/http/playerHttp.ts";
import { TurnClient } from "#test/support/network/turnClient.ts";
import { repositoryRoot } from "#test/support/processes/programs.ts";
import { clusterTargets } from "#test/e2e/support/clusterTargets.ts";
import { Coturn } from "#test/e2e/support/coturn.ts";
import { GamePage } from "#test/e2e/support/gamePage.ts";
import { publishTestCard } from "#test/e2e/support/games.ts";
import { GuidedAdmin } from "#test/e2e/support/guidedAdmin.ts";
import { gatewayOf } from "#test/e2e/support/nodeContainer.ts";
import { NodeLoadBalancer } from "#test/e2e/support/nodeLoadBalancer.ts";
import { platform, releaseNamespace, sessionsNamespace, type Platform } from "#test/e2e/support/platform.ts";
import { rollBackRelease } from "#test/e2e/support/release.ts";

const relayNamespace = "joypod-turn";
const relayPort = 3478;
/**
 * Of the guide, in the place of which tests have an address: browsers look up relays by name where no rules
 * of theirs for names hold.
 */
const guideHost = "turn.example.com";
const forbidden = 403;

/** How a browser reaches the relay: what the relay's address has in it, and what the browser calls that. */
const ways = {
  UDP: { url: ":3478?transport=udp", relayProtocol: "udp" },
  TCP: { url: ":3478?transport=tcp", relayProtocol: "tcp" },
  TLS: { url: "turns:", relayProtocol: "tls" },
} as const;

describe("docs/networking.md, followed literally,", () => {
  const folder = mkdtempSync(join(tmpdir(), "joypod-networking-"));
  const sharedSecret = randomBytes(24).toString("base64url");
  let installed: Platform;
  let authority: CertificateAuthority;
  let admin: GuidedAdmin;
  let browser: Browser;
  let window: TestWindow | undefined;
  let title: string;

  before(async () => {
    installed = await platform();
    ({ title } = await publishTestCard());
    authority = await CertificateAuthority.create();
    admin = new GuidedAdmin("networking", {
      folder,
      kubeconfig: installed.kubeconfig,
      env: { SHARED_SECRET: sharedSecret },
      timeoutMs: 240_000,
    });
    admin.settings["CHART"] = join(repositoryRoot, "charts/joypod");
    // The relay's certificate is of an authority that no browser knows.
    browser = await launchBrowser({ flags: ["--ignore-certificate-errors"] });
  });
  afterEach(async function () {
    await window?.close({ failed: this.currentTest?.state === "failed" });
    window = undefined;
  });
  after(async () => {
    await (browser as Browser | undefined)?.close();
    rmSync(folder, { recursive: true, force: true });
  });

  async function gameNodeAddresses(): Promise<string[]> {
    const { items } = await installed.gameNodes.list({});
    return items.map(({ status }) => status?.addresses?.internal ?? "");
  }

  async function firstGameNode(): Promise<string> {
    const [node] = (await installed.gameNodes.list({})).items;
    if (node === undefined) throw new Error("The cluster has no game node.");
    return node.metadata.name;
  }

  /** Makes the files of a certificate for this address, as the guide calls them. */
  async function certify(address: string): Promise<void> {
    const { certificateFile, keyFile } = await authority.server("relay", [`IP:${address}`]);
    copyFileSync(certificateFile, join(folder, "turn.crt"));
    copyFileSync(keyFile, join(folder, "turn.key"));
  }

  /** Plays, sees the game and is heard by it, where the browser's packets go this way alone. */
  async function playsBy({ url, relayProtocol }: (typeof ways)[keyof typeof ways]): Promise<void> {
    window = await openWindow(browser, { baseUrl: installed.baseUrl, name: `relayed by ${relayProtocol}` });
    await window.context.addInitScript(
      `globalThis.joypodRelay = ${JSON.stringify(url)};\n${await pageScript("probe")};\n${await pageScript("connectionProbe", "relayOnly")};`,
    );
    const game = new GamePage(window.page);
    await game.signIn(installed.baseUrl, await installed.createPlayer());
    await game.openGame(title);
    await game.startNewGame(1);
    const card = new TestCard(game);
    await card.showsPresses(0);
    await game.pressKey("Space");
    await card.showsPresses(1);
    const { status } = await installed.gameSessions.get({
      namespace: sessionsNamespace,
      name: game.sessionId(),
    });
    const path = await connectionPathOf(window.page);
    expect(path).to.deep.include({ relayProtocol, remote: status?.address });
    // Between two nodes the cluster translates the relay's address: the game's node sees another one than the
    // browser was told of.
    expect(path?.local).to.be.oneOf(["relay", "prflx"]);
    expect(await admin.follow(["ports"])).to.match(
      new RegExp(`^${game.sessionId()} +${status?.address} +${status?.ports?.media}$`, "m"),
    );
    await game.stop();
  }

  /** Asks a relay, with a player's valid credentials, for what a hostile player would want to reach. */
  async function reachesGameNodesAlone(address: string): Promise<void> {
    const player = await PlayerHttp.signIn(installed.baseUrl, await installed.createPlayer());
    const {
      iceServers: [{ username = "", credential = "" } = {}],
    } = await player.iceServers();
    const client = await TurnClient.open({ address, port: relayPort }, { username, credential });
    try {
      expect(await client.allocate()).to.equal("allocated");
      const nodes = await gameNodeAddresses();
      for (const node of nodes) expect(await client.permit(node), node).to.equal("permitted");
      const others = (await clusterTargets())
        .map((target) => target.replace(/:\d+$/, ""))
        .filter((host) => !nodes.includes(host));
      expect(others.length).to.be.greaterThan(5);
      for (const other of [...others, "127.0.0.1", "169.254.169.254"])
        expect(await client.permit(other), other).to.equal(forbidden);
    } finally {
      await client.close();
    }
  }

  it("makes a node announce its address outside a NAT", async () => {
    const name = await firstGameNode();
    const says = (isIt: boolean): Promise<boolean> =>
      eventually(
        async () => {
          const reachable = (await installed.gameNodes.get({ name })).status?.conditions?.find(
            ({ type }) => type === "Reachable",
          );
          return reachable?.message.includes("203.0.113.7") === isIt;
        },
        {
          timeoutMs: 30_000,
          what: isIt ? "the node to say its address" : "the node to have its own addresses alone",
        },
      );
    try {
      await admin.follow(["addresses"], (commands) => commands.replaceAll(/\bNODE\b/g, name));
      await says(true);
    } finally {
      await installed.kubectl(["annotate", "node", name, "joypod.dev/announce-address-"]);
      await says(false);
    }
  });

  describe("for the chart's relay", () => {
    let balancer: NodeLoadBalancer;
    let isFollowed = false;

    before(async () => {
      balancer = await NodeLoadBalancer.reserve();
      await certify(balancer.address);
      isFollowed = true; // What comes of commands that fail is taken back as well.
      const output = await admin.follow(["relay"], (commands) =>
        commands.replaceAll(guideHost, balancer.address),
      );
      expect(output)
        .to.contain('deployment "joypod-turn" successfully rolled out')
        .and.match(/^joypod-turn +LoadBalancer /m);
      const node = await installed.kubectl([
        "-n",
        relayNamespace,
        "get",
        "pods",
        "-o",
        "jsonpath={.items[0].spec.nodeName}",
      ]);
      await balancer.serve(relayNamespace, "joypod-turn", node);
    });
    after(async () => {
      await (balancer as NodeLoadBalancer | undefined)?.release();
      if (isFollowed) await rollBackRelease();
      await installed.kubectl([
        "delete",
        "namespace",
        relayNamespace,
        "--ignore-not-found",
        "--timeout=120s",
      ]);
    });

    for (const [name, way] of Object.entries(ways)) {
      it(`leads to a game that is played over ${name}`, () => playsBy(way));
    }

    it("lets a hostile player reach only the game nodes of the cluster", () =>
      reachesGameNodesAlone(balancer.address));
  });

  describe("for a relay of the admin's own,", () => {
    let coturn: Coturn | undefined;
    let address: string;
    let isFollowed = false;

    before(async () => {
      address = await gatewayOf(await firstGameNode());
      await certify(address);
      const allowed = (await gameNodeAddresses()).map((node) => `allowed-peer-ip=${node}`).join("\n");
      const configuration = guideBlock("networking", "coturn")
        .replaceAll(guideHost, address)
        .replace("SHARED_SECRET", sharedSecret)
        .replace(/^allowed-peer-ip=.*$/m, allowed);
      coturn = await Coturn.start({ address, configuration, folder });
      isFollowed = true;
      await admin.follow(["external"], (commands) => commands.replaceAll(guideHost, address));
    });
    after(async () => {
      if (isFollowed) await rollBackRelease();
      await installed.kubectl([
        "-n",
        releaseNamespace,
        "delete",
        "secret",
        "joypod-turn-external",
        "--ignore-not-found",
      ]);
      await coturn?.stop();
    });

    for (const name of ["UDP", "TLS"] as const) {
      it(`leads to a game that is played over ${name}`, () => playsBy(ways[name]));
    }

    it("lets a hostile player reach only the game nodes of the cluster", () =>
      reachesGameNodesAlone(address));
  });
});

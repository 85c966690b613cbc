import { expect } from "chai";
import { parse } from "yaml";
import type { GameNode } from "#contracts/crd/gameNode.ts";
import { eventually } from "#test/support/clocks/eventually.ts";
import { PlayerHttp } from "#test/support/http/playerHttp.ts";
import { guideBlock } from "#test/support/fixtures/guides.ts";
import {
  fakeGpuPath,
  fakeGpuShares,
  offerFakeGpus,
  removeFakeGpus,
  type FakeGpus,
} from "#test/e2e/support/fakeGpus.ts";
import { publishTestCard } from "#test/e2e/support/games.ts";
import { platform, sessionsNamespace, type Platform } from "#test/e2e/support/platform.ts";
import { rollBackRelease, testRelease, upgradeRelease } from "#test/e2e/support/release.ts";

/** Well below the idle timeout of test/e2e/values.yaml. */
const keepaliveMs = 15_000;

interface Launched {
  id: string;
  player: PlayerHttp;
}
interface GpuValues {
  gpu: { resourceName?: string; runtimeClassName?: string; streamer?: { count: number } };
}

/** The chart's values in a block of docs/gpu.md. */
function guideValues(purpose: string): GpuValues {
  return parse(guideBlock("gpu", purpose)) as GpuValues;
}

describe("sessions on GPUs, with the values of docs/gpu.md,", () => {
  let installed: Platform;
  let slug: string;
  /** The node that is chosen first among equals, and another. */
  let small = "";
  let large = "";
  const launched: Launched[] = [];
  let keepalive: NodeJS.Timeout;

  before(async () => {
    installed = await platform();
    ({ slug } = await publishTestCard());
    const { items } = await installed.gameNodes.list();
    [small = "", large = ""] = items.map(({ metadata }) => metadata.name).sort();
    keepalive = setInterval(() => {
      for (const { id, player } of launched) void player.keepAlive(id).catch(() => undefined);
    }, keepaliveMs);
  });
  after(() => clearInterval(keepalive));
  afterEach(async () => {
    await Promise.all(launched.splice(0).map(({ id, player }) => player.stop(id).catch(() => undefined)));
  });

  /** Has the nodes offer these GPUs, and the release use these values, for the tests of a suite. */
  function withGpus(offered: () => FakeGpus, values: GpuValues): void {
    let gpus: FakeGpus | undefined;
    let isUpgraded = false;
    before(async () => {
      gpus = offered();
      await offerFakeGpus(gpus);
      isUpgraded = true; // What comes of an upgrade that fails is taken back as well.
      await upgradeRelease(values);
    });
    after(async () => {
      if (isUpgraded) await rollBackRelease();
      if (gpus !== undefined) await removeFakeGpus(gpus);
      await gameNode(small, ({ status }) => status?.capacity?.slots === 2);
    });
  }

  function gameNode(name: string, isRight: (node: GameNode) => boolean): Promise<GameNode> {
    return eventually(
      async () => {
        const found = await installed.gameNodes.get({ name });
        if (!isRight(found)) throw new Error(JSON.stringify(found.status));
        return found;
      },
      { timeoutMs: 60_000, intervalMs: 500, what: `GameNode ${name} as expected` },
    );
  }

  async function launch(): Promise<Launched> {
    const player = await PlayerHttp.signIn(installed.baseUrl, await installed.createPlayer());
    const session = { id: await player.launch(slug), player };
    launched.push(session);
    await player.whenRunning(session.id);
    return session;
  }

  /** What a shell in the container of a session's pod prints. */
  async function printed(id: string, container: string, script: string): Promise<string> {
    return (
      await installed.kubectl([
        "-n",
        sessionsNamespace,
        "exec",
        id,
        "-c",
        container,
        "--",
        "sh",
        "-c",
        script,
      ])
    ).trim();
  }

  function notShared({ status }: GameNode): string {
    const { status: is, reason } = status?.conditions?.find(({ type }) => type === "GpuNotShared") ?? {};
    return `${is} ${reason}`;
  }

  describe("with time slicing", () => {
    const sliced = guideValues("time slicing");
    withGpus(() => ({ resource: sliced.gpu.resourceName ?? "", shares: { [small]: 2, [large]: 4 } }), sliced);

    it("have as many slots as a node's shares divided by those of both containers", async () => {
      expect(notShared(await gameNode(small, ({ status }) => status?.capacity?.slots === 1))).to.equal(
        "False Shared",
      );
      expect(notShared(await gameNode(large, ({ status }) => status?.capacity?.slots === 2))).to.equal(
        "False Shared",
      );
    });

    it("are reported by helm test to render in software if the device is not a GPU", async () => {
      for (const [name, slots] of [
        [small, 1],
        [large, 2],
      ] as const)
        await gameNode(name, ({ status }) => status?.capacity?.slots === slots && status.capacity.used === 0);
      const { isPassed, output } = await testRelease("joypod-node-test");
      expect(isPassed, output).to.equal(false);
      for (const name of [small, large]) {
        expect(output).to.contain(
          `${name}: sessions should use a GPU but render in software, because the streamer's container has no GPU for rendering`,
        );
        expect(output)
          .to.match(/Renderer +llvmpipe/)
          .and.match(/Encoders +x264enc \(h264\)/);
      }
    });

    it("see the device in both containers, share a node's device, and are not placed on a full node", async () => {
      for (const [name, slots] of [
        [small, 1],
        [large, 2],
      ] as const)
        await gameNode(name, ({ status }) => status?.capacity?.slots === slots && status.capacity.used === 0);
      const sessions = await Promise.all([launch(), launch(), launch()]);
      const placed = await Promise.all(
        sessions.map(({ id }) => installed.gameSessions.get({ namespace: sessionsNamespace, name: id })),
      );
      expect(placed.map(({ status }) => status?.nodeName).sort()).to.deep.equal([small, large, large]);
      expect(
        placed.map(({ status }) => status?.placement?.attempt),
        "no node refused a pod",
      ).to.deep.equal([1, 1, 1]);

      const held = new Map<string, string[]>();
      for (const { metadata, status } of placed) {
        for (const container of ["game", "streamer"]) {
          const share = await printed(
            metadata.name,
            container,
            `test -c ${fakeGpuPath} && test -w ${fakeGpuPath} && echo "$${fakeGpuShares}"`,
          );
          held.set(status?.nodeName ?? "", [...(held.get(status?.nodeName ?? "") ?? []), share]);
        }
      }
      expect(held.get(small), "one share for each container").to.have.same.members(["share-0", "share-1"]);
      expect(held.get(large)).to.have.same.members(["share-0", "share-1", "share-2", "share-3"]);

      const refused = await launch().then(
        () => undefined,
        (error: unknown) => String(error),
      );
      expect(refused).to.contain("503");
    });

    it("tolerate the taints of GPU nodes", async () => {
      for (const [name, slots] of [
        [small, 1],
        [large, 2],
      ] as const)
        await gameNode(name, ({ status }) => status?.capacity?.slots === slots && status.capacity.used === 0);
      const taints = [`${sliced.gpu.resourceName}=present:NoSchedule`, "nvidia.com/gpu=present:NoSchedule"];
      await installed.kubectl(["taint", "nodes", small, large, ...taints]);
      try {
        for (const name of [small, large])
          expect((await gameNode(name, () => true)).status?.capacity?.schedulable, name).to.equal(true);
        const { id } = await launch();
        expect(await printed(id, "game", `test -c ${fakeGpuPath} && echo seen`)).to.equal("seen");
      } finally {
        await installed.kubectl(["taint", "nodes", small, large, ...taints.map((taint) => `${taint}-`)]);
      }
    });
  });

  describe("with one session per GPU", () => {
    const { gpu } = guideValues("one session");
    const runtimeClass = {
      apiVersion: "node.k8s.io/v1",
      kind: "RuntimeClass",
      metadata: { name: gpu.runtimeClassName ?? "" },
      handler: "runc",
    };
    before(() => installed.kubectl(["apply", "-f", "-"], JSON.stringify(runtimeClass)));
    after(() =>
      installed.kubectl(["delete", "runtimeclass", runtimeClass.metadata.name, "--ignore-not-found"]),
    );
    withGpus(() => ({ resource: "nvidia.com/gpu", shares: { [small]: 1, [large]: 1 } }), {
      gpu: { ...gpu, resourceName: "nvidia.com/gpu" },
    });

    it("have the device in the game's container, and the vendor's runtime provides it to the streamer's", async () => {
      for (const name of [small, large])
        expect(notShared(await gameNode(name, ({ status }) => status?.capacity?.slots === 1)), name).to.equal(
          "False Shared",
        );
      const { id } = await launch();
      expect(
        (await installed.pods.get({ namespace: sessionsNamespace, name: id })).spec?.runtimeClassName,
      ).to.equal(runtimeClass.metadata.name);
      expect(await printed(id, "game", `test -c ${fakeGpuPath} && echo "$${fakeGpuShares}"`)).to.equal(
        "share-0",
      );
      const script = `test -e ${fakeGpuPath} || echo "$NVIDIA_VISIBLE_DEVICES $NVIDIA_DRIVER_CAPABILITIES"`;
      expect(await printed(id, "streamer", script)).to.equal("all graphics,video,compute,utility,display");
    });
  });
});

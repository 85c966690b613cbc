import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { expect } from "chai";
import { parse } from "yaml";
import { gameCacheKind } from "#contracts/crd/gameCache.ts";
import { gameNodeKind } from "#contracts/crd/gameNode.ts";
import { gameSessionKind, gameSessions } from "#contracts/crd/gameSession.ts";
import type { Kind, KindObject } from "#contracts/crd/kind.ts";
import { isKubeError } from "#kube/api/errors.ts";
import { ResourceClient } from "#kube/client/resourceClient.ts";
import { aGameSessionSpec } from "#test/factories/gameSession.ts";
import { sharedKubeApiServer, type KubeApiServer } from "#test/support/cluster/kubeApiServer.ts";
import { repositoryRoot } from "#test/support/processes/programs.ts";

type Sample = KindObject<Record<string, unknown>, unknown>;

const kinds = new Map([gameSessionKind, gameCacheKind, gameNodeKind].map((kind) => [kind.kind, kind]));
const folder = join(repositoryRoot, "crds/samples");

async function samples(verdict: string): Promise<{ file: string; sample: Sample; kind: Kind }[]> {
  const files = await readdir(join(folder, verdict));
  return Promise.all(
    files.map(async (file) => {
      const sample = parse(await readFile(join(folder, verdict, file), "utf8")) as Sample;
      return { file, sample, kind: kinds.get(sample.kind)! };
    }),
  );
}

describe("custom resource samples", () => {
  let server: KubeApiServer;

  before(async function () {
    this.timeout(60_000);
    server = await sharedKubeApiServer();
  });

  async function create({ sample, kind }: { sample: Sample; kind: Kind }): Promise<void> {
    const scope = kind.namespaced ? "namespaces/default/" : "";
    await server.admin.request({
      method: "POST",
      path: `/apis/${kind.group}/${kind.version}/${scope}${kind.plural}`,
      query: { fieldValidation: "Strict", dryRun: "All" },
      body: sample,
    });
  }

  it("cover every kind with valid and invalid samples", async () => {
    for (const verdict of ["valid", "invalid"]) {
      expect(new Set((await samples(verdict)).map(({ sample }) => sample.kind))).to.deep.equal(
        new Set(kinds.keys()),
      );
    }
  });

  it("are accepted by schema and API server when they are valid", async () => {
    for (const { file, sample, kind } of await samples("valid")) {
      expect(kind.spec.safeParse(sample.spec).error?.issues, file).to.equal(undefined);
      await create({ sample, kind });
    }
  });

  it("are rejected by schema and API server when they are invalid", async () => {
    for (const { file, sample, kind } of await samples("invalid")) {
      expect(kind.spec.safeParse(sample.spec).success, file).to.equal(false);
      const error = await create({ sample, kind }).then(
        () => undefined,
        (error: unknown) => error,
      );
      expect(
        isKubeError(error) && [400, 422].includes(error.status ?? 0),
        `${file}: ${String(error)}`,
      ).to.equal(true);
    }
  });

  it("cannot change the ticket key of a session", async () => {
    const namespace = await server.createNamespace("samples");
    const sessions = new ResourceClient(server.admin, gameSessions);
    const patched = async (ref: { name: string; namespace: string }, ticketPublicKey: string | null) =>
      sessions.mergePatch(ref, { spec: { ticketPublicKey } }).then(
        () => undefined,
        (error: unknown) => String(error),
      );
    const [one, other] = ["A", "E"].map((last) => "A".repeat(42) + last);
    const withKey = { name: "with", namespace };
    await sessions.create({ metadata: withKey, spec: aGameSessionSpec({ ticketPublicKey: one! }) });
    expect(await patched(withKey, other!)).to.contain("is immutable");
    expect(await patched(withKey, null)).to.contain("cannot be added or removed");
    const without = { name: "without", namespace };
    await sessions.create({ metadata: without, spec: aGameSessionSpec() });
    expect(await patched(without, one!)).to.contain("cannot be added or removed");
  });
});

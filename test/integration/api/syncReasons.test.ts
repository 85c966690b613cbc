import { expect } from "chai";
import type { GameCache } from "#contracts/crd/gameCache.ts";
import type { CacheEntry, GameNode, GameNodeStatus } from "#contracts/crd/gameNode.ts";
import { SyncResponse, type PendingServer } from "#contracts/http/partners.ts";
import { aCondition } from "#test/factories/gameSession.ts";
import { aGame, aPartner, type TestGame, type TestPartner } from "#test/factories/catalog.ts";
import { eventually } from "#test/support/clocks/eventually.ts";
import { operatorOf, type FakeOperator } from "#test/support/cluster/fakeOperator.ts";
import { TestApi } from "#test/support/http/api.ts";

describe("a server without the current archive", function () {
  this.timeout(60_000);
  let api: TestApi;
  let operator: FakeOperator;
  let partner: TestPartner;
  let game: TestGame;
  let node: string | undefined;

  before(async () => {
    api = await TestApi.start({ kube: true, env: { PARTNER_REQUESTS_PER_MINUTE: "10000" } });
    operator = operatorOf(api);
    partner = await aPartner(api.deps);
  });
  beforeEach(async () => {
    game = await aGame(api.deps, { partnerId: partner.id });
  });
  afterEach(() => operator.removeNodes());
  after(() => api.stop());

  const source = () => ({
    bucket: "joypod",
    key: "archives/x",
    sha256: game.sha256!,
    sizeBytes: 1,
    unpackedSizeBytes: 1,
  });
  async function applyCache(spec: Partial<GameCache["spec"]> = {}): Promise<void> {
    const metadata = { name: game.slug, namespace: api.kube!.sessionsNamespace };
    await operator.caches.apply({ metadata, spec: { source: source(), ...spec } }, { fieldManager: "test" });
  }
  /** Adds the only server, which should hold the game, and reports this. */
  async function addNode(
    status: GameNodeStatus = {},
    { isSelected = true, hold = false } = {},
  ): Promise<void> {
    node = await operator.addNode(1, status);
    if (isSelected)
      await select([{ digest: game.sha256!, source: source(), priority: 0, pinned: false, hold }]);
  }
  async function select(desired: GameNode["spec"]["desired"]): Promise<void> {
    await operator.nodes.mergePatch({ name: node! }, { spec: { desired } });
  }
  const reports = (entry: Partial<CacheEntry>): GameNodeStatus => ({
    cache: {
      capacityBytes: 1,
      freeBytes: 1,
      entries: [{ digest: game.sha256!, state: "Queued", bytes: 0, inUse: false, ...entry }],
    },
  });
  /** Waits until the server is pending for this reason. */
  async function pendingFor(reason: PendingServer["reason"]): Promise<PendingServer> {
    return eventually(
      async () => {
        const response = await api.asPartner(partner).get(`/api/partners/games/${game.slug}/sync`);
        const { servers, pendingSync } = SyncResponse.parse(response.json());
        const pending = servers.find(({ id }) => id === node)?.pending;
        if (pendingSync !== 1 || pending?.reason !== reason) throw new Error(response.text);
        return pending;
      },
      { what: `the reason ${reason}` },
    );
  }

  it("waits for its turn, downloads with a progress, or is not selected", async () => {
    await applyCache();
    await addNode({}, { hold: true });
    await pendingFor("waiting");
    await operator.nodes.mergePatchStatus(
      { name: node! },
      { status: reports({ state: "Downloading", progressPercent: 40 }) },
    );
    expect(await pendingFor("downloading")).to.include({ progressPercent: 40 });
    await operator.nodes.mergePatchStatus({ name: node! }, { status: { cache: null } });
    await select([]);
    await pendingFor("not_selected");
  });

  for (const [report, reason, message] of [
    ["InsufficientSpace: 3 GiB are missing on /var/lib/joypod.", "disk_full", "no room"],
    ["StoreUnreachable: connect ECONNREFUSED 10.0.0.7:9000", "store_unavailable", "cannot reach"],
    ["SourceMissing: archives/x is not in the bucket joypod.", "archive_missing", "upload it again"],
    ["ChecksumMismatch: The digest differs.", "archive_damaged", "damaged"],
    ["ArchiveRefused: engine/link is a symbolic link.", "archive_refused", "engine/link is a symbolic link."],
    ["DownloadFailed: read ECONNRESET 10.0.0.7", "download_failed", "tries again"],
    ["Other: of another release", "download_failed", "tries again"],
  ] as const) {
    it(`names the failure of its download without the platform's parts: ${reason} for ${report.split(":")[0] ?? ""}`, async () => {
      await applyCache();
      await addNode(reports({ state: "Failed", reason: report }));
      const pending = await pendingFor(reason);
      expect(pending.message)
        .to.include(message)
        .and.not.match(/10\.0\.0\.7|bucket|\/var\/lib/);
    });
  }

  it("downloads on demand, or not while the admin has suspended downloads", async () => {
    await applyCache({ placement: { policy: "OnDemand" } });
    await addNode({}, { isSelected: false });
    await pendingFor("on_demand");
    await applyCache({ suspend: true });
    await pendingFor("suspended");
  });

  it("may not report", async () => {
    await applyCache();
    await addNode({ conditions: [{ ...aCondition("Ready"), status: "False" }] });
    await pendingFor("server_unavailable");
  });

  it("waits for the cluster to learn of a new version, and for a first version", async () => {
    await addNode({}, { isSelected: false });
    await pendingFor("waiting");
    await applyCache({ source: { ...source(), sha256: "c".repeat(64) } });
    await pendingFor("waiting");
    game = await aGame(api.deps, { partnerId: partner.id, status: "pending_upload" });
    await pendingFor("no_version");
  });
});

import { expect } from "chai";
import type { ArchiveSource, GameCache } from "#contracts/crd/gameCache.ts";
import { isDeleting } from "#kube/controllers/finalizers.ts";
import type { Stored } from "#kube/api/object.ts";
import type { TestGame } from "#test/factories/catalog.ts";
import { anArchiveSource } from "#test/factories/gameCache.ts";
import { eventually } from "#test/support/clocks/eventually.ts";
import { anArchive, sha256Of } from "#test/support/fixtures/archives.ts";
import { UploadFixture } from "#test/support/fixtures/uploadFixture.ts";

describe("a GameCache that does not match the database", function () {
  this.timeout(60_000);
  let fixture: UploadFixture;

  before(async () => {
    fixture = await UploadFixture.start({});
  });
  beforeEach(() => fixture.newGame());
  after(() => fixture.stop());

  const refOf = (name: string): { name: string; namespace: string } => ({
    name,
    namespace: fixture.api.kube!.sessionsNamespace,
  });
  const sourceNow = async (): Promise<ArchiveSource> =>
    (await fixture.operator.cache(fixture.game.slug))!.spec.source;

  async function uploadedSource(archive: Buffer): Promise<ArchiveSource> {
    await fixture.uploaded(archive);
    return eventually(
      async () => {
        const source = await sourceNow();
        return source.sha256 === sha256Of(archive) ? source : undefined;
      },
      { what: "the cache to name the archive" },
    );
  }

  /** Writes a GameCache by hand, or one that was deleted as a backup has it. */
  function writeCache(
    name: string,
    source: ArchiveSource,
    finalizers: string[] = [],
  ): Promise<Stored<GameCache>> {
    return fixture.operator.caches.apply(
      { metadata: { ...refOf(name), finalizers }, spec: { source } },
      { fieldManager: "test" },
    );
  }

  /**
   * Deletes the fixture's game, and returns it; resolves once its GameCache is gone or, with a finalizer,
   * going, and the API has seen that.
   */
  async function deletedGame(): Promise<TestGame> {
    const {
      client,
      game,
      api: { deps },
    } = fixture;
    expect((await client.delete(`/api/partners/games/${game.slug}`)).status).to.equal(204);
    await eventually(
      async () => {
        const cache = deps.cluster.gameCache(game.slug);
        const { cacheRevision, cacheAppliedRevision } = await deps.postgres.prisma.game.findUniqueOrThrow({
          where: { id: game.id },
        });
        return cacheAppliedRevision === cacheRevision && (cache === undefined || isDeleting(cache));
      },
      { what: "the cache to go" },
    );
    return game;
  }

  /** Has the API compare: the cluster tells of a deletion, and of all that was written before it. */
  async function tellOfDeletion(): Promise<void> {
    const {
      metadata: { name },
    } = await writeCache(`${fixture.game.slug}-other`, anArchiveSource());
    await fixture.operator.caches.delete(refOf(name));
  }

  async function cacheRevisionOf(id: string): Promise<number> {
    return (await fixture.api.deps.postgres.prisma.game.findUniqueOrThrow({ where: { id } })).cacheRevision;
  }

  it("is recreated if it was deleted", async () => {
    const archive = await anArchive();
    await fixture.uploaded(archive);
    const { game, operator } = fixture;
    const {
      metadata: { uid },
    } = (await operator.cache(game.slug))!;
    await operator.caches.delete(refOf(game.slug));
    const cache = await eventually(
      async () => {
        const found = await operator.cache(game.slug);
        return found?.metadata.uid === uid ? undefined : found;
      },
      { what: "the deleted GameCache to come back", timeoutMs: 10_000 },
    );
    expect(cache.spec.source.sha256).to.equal(sha256Of(archive));
  });

  it("names the current version again if the cluster was restored to an earlier one, also with the same archive", async () => {
    const archive = await anArchive();
    const first = await uploadedSource(archive);
    const second = await uploadedSource(await anArchive());
    await fixture.minio.client.removeObject(first.bucket, first.key);
    const current = await uploadedSource(archive);
    expect(first.key, "stored anew").not.to.equal(current.key);
    for (const earlier of [second, first]) {
      await fixture.operator.caches.mergePatch(refOf(fixture.game.slug), { spec: { source: earlier } });
      await tellOfDeletion();
      await eventually(async () => expect(await sourceNow()).to.deep.equal(current), {
        what: "the current version",
        timeoutMs: 10_000,
      });
    }
  });

  it("is removed if its game was deleted, unless the API did not create it or is removing it", async () => {
    const { operator } = fixture;
    const withoutVersion = fixture.game;
    await fixture.newGame();
    await writeCache(fixture.game.slug, await uploadedSource(await anArchive()), ["joypod.dev/test"]);
    const leaving = await deletedGame();
    await fixture.newGame();
    await fixture.uploaded(await anArchive());
    const deletedBefore = await deletedGame();
    await fixture.newGame();
    const source = await uploadedSource(await anArchive());
    const { slug } = await deletedGame();

    const byHand = [
      await writeCache(`${slug}-by-hand`, source),
      await writeCache(withoutVersion.slug, anArchiveSource()),
      await writeCache(deletedBefore.slug, anArchiveSource()),
    ];
    const untouched = [withoutVersion.id, leaving.id, deletedBefore.id];
    const revisions = await Promise.all(untouched.map(cacheRevisionOf));
    await writeCache(slug, source);
    await tellOfDeletion();
    await eventually(async () => (await operator.cache(slug)) === undefined, {
      what: "the deleted game's cache to go",
      timeoutMs: 10_000,
    });
    expect(await Promise.all(untouched.map(cacheRevisionOf))).to.deep.equal(revisions);
    for (const {
      metadata: { name, resourceVersion },
    } of byHand) {
      expect((await operator.cache(name))?.metadata.resourceVersion, name).to.equal(resourceVersion);
    }
    await operator.caches.mergePatch(refOf(leaving.slug), { metadata: { finalizers: null } });
  });
});

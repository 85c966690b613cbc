/**
 * Measures the upload of an archive through the API, which hashes, unpacks and checks it in one pass,
 * compared with a PUT of the same bytes to the object store. Also measures the API's memory. Usage: `node
 * test/bench/uploadArchive.ts [--rounds N]`.
 */
import { parseArgs } from "node:util";
import { aGame, aPartner, type TestPartner } from "#test/factories/catalog.ts";
import { TestApi } from "#test/support/http/api.ts";
import { ApiProcess } from "#test/support/http/apiProcess.ts";
import { archivedGame } from "#test/support/fixtures/archives.ts";
import type { TestMinio } from "#test/support/stores/minio.ts";
import { PackedGame } from "#test/support/fixtures/packedGame.ts";
import { sendPackedGame } from "#test/support/fixtures/sendPackedGame.ts";
import { atLeastRow, median, table, type BenchRow } from "./row.ts";

const gigabyte = 1e9;
const mostMegabytes = 160;
/** The program in the image; `make bench` builds it. */
const program = "api/dist/programs/api.js";

interface UploadSetup {
  api: TestApi;
  minio: TestMinio;
  partner: TestPartner;
  packedGame: PackedGame;
}

/** C3: speed and memory of an upload. */
export async function measureUpload({ rounds = 3 }: { rounds?: number } = {}): Promise<BenchRow[]> {
  const api = await TestApi.start({ kube: true, isLed: true, minio: true });
  try {
    if (api.minio === undefined) throw new Error("The API has no object store.");
    const fixture = {
      api,
      minio: api.minio,
      partner: await aPartner(api.deps),
      packedGame: new PackedGame(),
    };
    return [await speed(fixture, rounds), ...(await memory(fixture))];
  } finally {
    await api.stop();
  }
}

/** Measures both, alternating, so that other load on the machine affects both. */
async function speed(fixture: UploadSetup, rounds: number): Promise<BenchRow> {
  const process = await ApiProcess.beside(fixture.api, { PARTNER_UPLOADS_PER_HOUR: "1000" }, program);
  try {
    // Warm-up, so that compiling and opening connections is not measured.
    await upload(fixture, process, gigabyte / 10);
    const [ours, direct]: [number[], number[]] = [[], []];
    for (let round = 0; round < rounds; round++) {
      direct.push(await seconds(() => putDirectly(fixture, gigabyte)));
      ours.push(await seconds(() => upload(fixture, process, gigabyte)));
    }
    return atLeastRow("C3 upload of 1 GB, PUT to MinIO", median(ours) * 1000, median(direct) * 1000, 0.6);
  } finally {
    await process.stop("SIGTERM");
  }
}

/** Measures each size in a separate process after a small upload. The peak is reported by the kernel. */
async function memory(fixture: UploadSetup): Promise<BenchRow[]> {
  const small = await peakMegabytes(fixture, gigabyte / 10);
  const large = await peakMegabytes(fixture, 4 * gigabyte);
  const megabytes = (value: number): string => `${value.toFixed(0)} MB`;
  return [
    {
      id: "C3 memory of the API, upload of 4 GB",
      ours: megabytes(large),
      peer: "-",
      limit: megabytes(mostMegabytes),
      ratio: "-",
      target: `≤ ${mostMegabytes} MB`,
      isPassed: large <= mostMegabytes,
    },
    {
      id: "C3 memory, upload of 4 GB to 0.1 GB",
      ours: megabytes(large),
      peer: megabytes(small),
      limit: "-",
      ratio: (large / small).toFixed(2),
      target: "≤ 1.1",
      isPassed: large / small <= 1.1,
    },
  ];
}

async function peakMegabytes(fixture: UploadSetup, bytes: number): Promise<number> {
  const process = await ApiProcess.beside(fixture.api, { PARTNER_UPLOADS_PER_HOUR: "1000" }, program);
  try {
    await upload(fixture, process, gigabyte / 50);
    process.resetPeak();
    await upload(fixture, process, bytes);
    return process.peakBytes / 2 ** 20;
  } finally {
    await process.stop("SIGTERM");
  }
}

async function upload(
  { api, minio, partner, packedGame }: UploadSetup,
  process: ApiProcess,
  bytes: number,
): Promise<void> {
  const { slug, id } = await aGame(api.deps, {
    partnerId: partner.id,
    status: "pending_upload",
    ...archivedGame,
  });
  await sendPackedGame(`${process.url}/api/partners/games/${slug}/upload`, packedGame, bytes, {
    authorization: `Bearer ${partner.key}`,
    "content-type": "application/gzip",
  });
  const { objectKey } = await api.deps.postgres.prisma.gameVersion.findFirstOrThrow({
    where: { gameId: id },
  });
  await minio.client.removeObject(minio.bucket, objectKey);
}

async function putDirectly(
  { minio: { client, bucket }, packedGame }: UploadSetup,
  bytes: number,
): Promise<void> {
  await sendPackedGame(await client.presignedPutObject(bucket, "direct.tar.gz", 3600), packedGame, bytes);
  await client.removeObject(bucket, "direct.tar.gz");
}

async function seconds(work: () => Promise<void>): Promise<number> {
  const startedMs = performance.now();
  await work();
  return (performance.now() - startedMs) / 1000;
}

if (import.meta.main) {
  const { values } = parseArgs({ options: { rounds: { type: "string", default: "3" } } });
  console.log(table(await measureUpload({ rounds: Number(values.rounds) })));
}

import { expect } from "chai";
import { execFile } from "node:child_process";
import { appendFileSync, copyFileSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { aPartner, aUser } from "#test/factories/catalog.ts";
import { eventually } from "#test/support/clocks/eventually.ts";
import { operatorOf, type FakeOperator } from "#test/support/cluster/fakeOperator.ts";
import { anArchive } from "#test/support/fixtures/archives.ts";
import { TestApi } from "#test/support/http/api.ts";
import { repositoryRoot } from "#test/support/processes/programs.ts";

const run = promisify(execFile);
const limitMs = 300_000;
const slug = "my-game";
const usage = { durationSeconds: 12.5, cpuSeconds: 3, peakMemoryBytes: 64 * 2 ** 20 };

interface Document {
  components: { schemas: Record<string, { properties: Record<string, object>; required: string[] }> };
}

const compilerOptions = {
  target: "es2024",
  lib: ["es2024", "dom"],
  module: "nodenext",
  strict: true,
  noUncheckedIndexedAccess: true,
  verbatimModuleSyntax: true,
  types: ["node"],
  typeRoots: [join(repositoryRoot, "node_modules/@types")],
  rootDir: ".",
  outDir: "dist",
};

/** What a compiler, or a program, says when it fails. */
function failureOf(error: unknown): string {
  return typeof error === "object" && error !== null && "stdout" in error && "stderr" in error
    ? `${String(error.stdout)}${String(error.stderr)}`
    : String(error);
}

describe("a client that openapi-ts generates from /openapi.json", function () {
  this.timeout(2 * limitMs);
  let api: TestApi;
  let operator: FakeOperator;
  let document: Document;
  const folders: string[] = [];

  before(async () => {
    api = await TestApi.start({ kube: true, minio: true });
    operator = operatorOf(api);
    await operator.addNode(10);
    await eventually(() =>
      api.deps.cluster.gameNodes.cache.list().some(({ status }) => status?.capacity !== undefined),
    );
    document = (await (await fetch(`${api.url}/openapi.json`)).json()) as Document;
  });
  after(async () => {
    for (const folder of folders) rmSync(folder, { recursive: true });
    await operator.removeNodes();
    await api.stop();
  });

  /** A folder with the client of this document and the program that uses it. */
  async function clientOf(described: Document): Promise<string> {
    const folder = mkdtempSync(join(tmpdir(), "joypod-typed-client-"));
    folders.push(folder);
    mkdirSync(join(folder, "client"));
    writeFileSync(join(folder, "openapi.json"), JSON.stringify(described));
    writeFileSync(join(folder, "package.json"), JSON.stringify({ type: "module" }));
    writeFileSync(
      join(folder, "tsconfig.json"),
      JSON.stringify({ compilerOptions, include: ["quickStart.ts", "client"] }),
    );
    copyFileSync(join(import.meta.dirname, "quickStart.ts.txt"), join(folder, "quickStart.ts"));
    await run(join(repositoryRoot, "tools/openapi/typedClient.sh"), ["openapi.json", "client"], {
      cwd: folder,
      timeout: limitMs,
    });
    return folder;
  }

  /**
   * What a program of the repository's packages says of the folder; empty when it finds nothing. A process of
   * its own, so that the API goes on.
   */
  async function complaints(folder: string, program: string, ...args: string[]): Promise<string> {
    const env = {
      ...process.env,
      OXLINT_TSGOLINT_PATH: join(repositoryRoot, "node_modules/oxlint-tsgolint/bin/tsgolint.js"),
    };
    return run(process.execPath, [join(repositoryRoot, "node_modules", program), ...args], {
      cwd: folder,
      env,
      timeout: limitMs,
    }).then(({ stdout }) => stdout.trim(), failureOf);
  }

  async function compilerErrors(folder: string): Promise<string> {
    return complaints(folder, "typescript/bin/tsc", "-p", ".");
  }

  /** Each place of quickStart.ts where a value's type is `any`, be it the program's own or the client's. */
  async function untypedPlaces(folder: string): Promise<string> {
    return complaints(
      folder,
      "oxlint/bin/oxlint",
      "--config",
      join(import.meta.dirname, "untyped.oxlintrc.json"),
      "--format",
      "unix",
      "quickStart.ts",
    );
  }

  /** Does what the operator would do for the user's session. */
  async function playOut(userId: string): Promise<void> {
    const { id } = await eventually(
      async () => (await api.deps.postgres.prisma.gameSession.findFirst({ where: { userId } })) ?? undefined,
      { timeoutMs: limitMs },
    );
    await eventually(() => operator.findSession(id));
    await operator.makeReady(id);
    await eventually(async () => (await operator.session(id)).spec.desiredState === "Stopped", {
      timeoutMs: limitMs,
    });
    await operator.finish(id, { usage });
  }

  it("compiles strictly, and publishes and plays a game", async () => {
    const folder = await clientOf(document);
    expect(await compilerErrors(folder)).to.equal("");
    expect(await untypedPlaces(folder)).to.equal("");
    const [user, partner] = await Promise.all([aUser(api.deps), aPartner(api.deps)]);
    writeFileSync(join(folder, "my-game.tar.gz"), await anArchive());
    const env = {
      PATH: process.env["PATH"],
      JOYPOD_URL: api.url,
      JOYPOD_API_KEY: partner.key,
      JOYPOD_EMAIL: user.email,
      JOYPOD_PASSWORD: user.password,
      JOYPOD_SLUG: slug,
      JOYPOD_ARCHIVE: join(folder, "my-game.tar.gz"),
    };
    const program = run(process.execPath, ["dist/quickStart.js"], {
      cwd: folder,
      env,
      timeout: limitMs,
    }).catch((error: unknown) => expect.fail(failureOf(error)));
    const [{ stdout }] = await Promise.all([program, Promise.race([playOut(user.id), program])]);
    const seen = JSON.parse(stdout) as Record<string, unknown>;
    const { sessionId } = seen;
    expect(seen).to.deep.include({
      sync: slug,
      player: user.name,
      title: "My Game",
      slots: 3,
      role: "play",
      error: "not_found",
      usage: { status: "stopped", duration: 12.5, cpuSeconds: 3, peakMemoryMb: 64 },
    });
    expect(seen["ticketUrl"]).to.equal(seen["stream"]);
    expect(new Date(String(seen["expiresAt"])).getTime()).to.be.greaterThan(Date.now());
    const row = await api.deps.postgres.prisma.gameSession.findUniqueOrThrow({
      where: { id: String(sessionId) },
      include: { game: { include: { partner: true } } },
    });
    expect({
      status: row.status,
      stopReason: row.stopReason,
      userId: row.userId,
      game: row.game.slug,
      partner: row.game.partner.name,
    }).to.deep.equal({
      status: "stopped",
      stopReason: "UserRequested",
      userId: user.id,
      game: slug,
      partner: partner.name,
    });
  });

  it("rejects a program that reads undocumented fields", async () => {
    const changed = structuredClone(document);
    const { Keepalive: keepalive } = changed.components.schemas;
    expect(keepalive?.required).to.include("expiresAt");
    delete keepalive?.properties["expiresAt"];
    if (keepalive !== undefined)
      keepalive.required = keepalive.required.filter((name) => name !== "expiresAt");
    const errors = (await compilerErrors(await clientOf(changed))).trim().split("\n");
    expect(errors).to.have.length(1);
    expect(errors[0]).to.match(
      /^.*quickStart\.ts\(.*Property 'expiresAt' does not exist on type 'Keepalive'/,
    );
  });

  it("rejects a program that ignores the types of values", async () => {
    const folder = await clientOf(document);
    appendFileSync(
      join(folder, "quickStart.ts"),
      'export const version: string = JSON.parse("{}").version;\n',
    );
    expect(await untypedPlaces(folder)).to.match(/no-unsafe-assignment[^]*no-unsafe-member-access/);
  });
});

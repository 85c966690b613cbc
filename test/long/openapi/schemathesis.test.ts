import { expect } from "chai";
import { spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { sessionCookieName } from "#api/auth/cookies.ts";
import { eventually } from "#test/support/clocks/eventually.ts";
import { operatorOf, type FakeOperator } from "#test/support/cluster/fakeOperator.ts";
import { TestApi } from "#test/support/http/api.ts";
import { ownedThings } from "#test/support/openapi/interfaceFixture.ts";
import { repositoryRoot } from "#test/support/processes/programs.ts";

const many = "100000";
const env = {
  CATALOG_REQUESTS_PER_MINUTE: many,
  PARTNER_REQUESTS_PER_MINUTE: many,
  LAUNCHES_PER_MINUTE: many,
  LAUNCHES_PER_HOUR: many,
  POLLS_PER_MINUTE: many,
  PARTNER_UPLOADS_PER_HOUR: many,
  TRUSTED_PROXIES: "1",
  STOP_WAIT_SECONDS: "1",
};

/**
 * Cases of each operation, in each phase. An offer for a session that is yet to start waits for twenty
 * seconds, so a hundred took over twenty minutes.
 */
const examples = process.env.JOYPOD_SCHEMATHESIS_EXAMPLES ?? "40";

/**
 * All that it knows, but for what a document cannot promise: that input of the right form is never refused.
 */
const checks = [
  "not_a_server_error",
  "status_code_conformance",
  "content_type_conformance",
  "response_headers_conformance",
  "response_schema_conformance",
  "negative_data_rejection",
  "unsupported_method",
  "ignored_auth",
];

/** Operations that end the sign-in they come with, or put another in its place. */
const endingSignIns = ["signOut", "setPassword", "unlinkProvider", "endSignIn", "endOtherSignIns"];

const limitMs = 1_200_000;

describe("Schemathesis, which generates requests from /openapi.json,", function () {
  this.timeout(limitMs + 60_000);
  let api: TestApi;
  let operator: FakeOperator;
  /** Where it leaves what it found. */
  let folder: string;

  before(async () => {
    folder = mkdtempSync(join(tmpdir(), "joypod-schemathesis-"));
    api = await TestApi.start({ env, kube: true, isLed: true, minio: true });
    operator = operatorOf(api);
    await operator.addNode(100_000);
    await eventually(() =>
      api.deps.cluster.gameNodes.cache.list().some(({ status }) => status?.capacity !== undefined),
    );
  });
  after(async () => {
    await operator.removeNodes();
    await api.stop();
    rmSync(folder, { recursive: true });
  });

  /** Its report; throws when it found a response that is not as documented. */
  async function run(header: string, ...args: string[]): Promise<string> {
    const child = spawn(
      join(repositoryRoot, "tools/openapi/schemathesis.sh"),
      [
        "--config-file",
        join(repositoryRoot, "tools/openapi/schemathesis.toml"),
        "run",
        `${api.url}/openapi.json`,
        "--header",
        header,
        "--generation-with-security-parameters",
        "false",
        "--max-examples",
        examples,
        "--seed",
        "20261122",
        "--request-timeout",
        "45",
        "--no-color",
        "--checks",
        checks.join(","),
        ...args,
      ],
      {
        env: {
          ...process.env,
          SCHEMATHESIS_HOOKS: "tools.openapi.hooks",
          PYTHONPATH: repositoryRoot,
          PYTHONDONTWRITEBYTECODE: "1",
        },
        cwd: folder,
        timeout: limitMs,
      },
    );
    const [report, errors, code] = await Promise.all([
      text(child.stdout),
      text(child.stderr),
      new Promise<number | null>((resolve) => child.once("close", resolve)),
    ]);
    expect(code, `${report}${errors}`.slice(-20_000)).to.equal(0);
    return report;
  }

  it("finds no deviation from the document as a player", async () => {
    const { user } = await ownedThings(api);
    const browser = api.as(user);
    await browser.get("/api/auth/session");
    const name = sessionCookieName(api.deps.config);
    // What ends the sign-in would make every later request one of nobody.
    await run(
      `Cookie: ${name}=${browser.cookies.get(name)}`,
      "--exclude-path-regex",
      "^/api/partners/",
      ...endingSignIns.flatMap((operation) => ["--exclude-operation-id", operation]),
    );
    expect((await browser.get("/api/games")).status).to.equal(200);
  });

  for (const operation of endingSignIns) {
    it(`finds no deviation from the document in ${operation}, which may end the sign-in`, async () => {
      const { user } = await ownedThings(api);
      const browser = api.as(user);
      await browser.get("/api/auth/session");
      const name = sessionCookieName(api.deps.config);
      await run(`Cookie: ${name}=${browser.cookies.get(name)}`, "--include-operation-id", operation);
    });
  }

  it("finds no deviation from the document as a partner", async () => {
    const { partner } = await ownedThings(api);
    await run(`Authorization: Bearer ${partner.key}`, "--include-path-regex", "^/api/partners/");
  });
});

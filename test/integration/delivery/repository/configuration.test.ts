import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect } from "chai";
import { readConfig as readApiConfig } from "#api/config.ts";
import { readConfig as readAgentConfig } from "#node-agent/config.ts";
import { readConfig as readOperatorConfig } from "#operator/config.ts";
import { render, values, type Container } from "#test/support/chart/helmTemplate.ts";
import { repositoryRoot } from "#test/support/processes/programs.ts";

const text = (path: string): string => readFileSync(join(repositoryRoot, path), "utf8");

/**
 * Beside the chart's sample values: what these leave out. Web identities take the place of keys, so both are
 * rendered.
 */
const renderings = [
  [],
  [
    "--set",
    "postgres.caSecret=a,redis.caSecret=a,s3.caSecret=a,s3.webIdentity.enabled=true,s3.webIdentity.roleArn=arn:a,s3.webIdentity.stsEndpoint=https://sts.test",
  ],
  ["--set", "auth.smtp.host=smtp.test,auth.smtp.caSecret=a"],
  [
    "--set",
    "sessions.pods.labels.a=b,sessions.pods.annotations.a=b,sessions.pods.nodeSelector.a=b,sessions.pods.priorityClassName=a,sessions.pods.runtimeClassName=a",
  ],
];
const s3 = { S3_ENDPOINT: "http://minio:9000", S3_ACCESS_KEY: "a", S3_SECRET_KEY: "s" };
const programs = [
  {
    title: "API",
    source: "api/src/variables.ts",
    container: "api",
    parse: readApiConfig,
    required: {
      ...s3,
      BASE_URL: "https://play.test",
      DATABASE_URL: "postgres://db/joypod",
      REDIS_URL: "redis://redis:6379",
      SIGNING_KEYS: `a:${Buffer.from(Array.from({ length: 32 }, (_, index) => index)).toString("base64")}`,
      PASSWORD_PEPPER: "sixteen or more characters",
    },
  },
  {
    title: "Operator",
    source: "operator/src/config.ts",
    container: "operator",
    parse: readOperatorConfig,
    required: { STREAMER_IMAGE: "streamer", GAME_IMAGE: "game" },
  },
  {
    title: "Node agent",
    source: "node-agent/src/config.ts",
    container: "node-agent",
    parse: readAgentConfig,
    required: { ...s3, NODE_NAME: "node-a" },
  },
] as const;

/** The variables of a program's schema, by its source. */
function variablesOf(source: string): string[] {
  // The streamer's file has other objects one level deeper.
  const indent = source.startsWith("session/streamer/") ? " {2}" : "(?: {2}| {4})";
  const pattern = new RegExp(`^${indent}([A-Z][A-Z0-9_]+): `, "gm");
  const names = [...text(source).matchAll(pattern)].map(([, name = ""]) => name);
  if (source === "node-agent/src/config.ts") return [...names, ...variablesOf(objectStoreSource)];
  return source === "api/src/variables.ts"
    ? [...names, ...variablesOf("api/src/games/siteResources.ts"), ...variablesOf(objectStoreSource)]
    : names;
}

/** Shared by the API and the node agent. */
const objectStoreSource = "packages/s3/src/objectStoreVariables.ts";

interface DocumentedVariable {
  name: string;
  /** As it stands in the table: a value in backticks, or words. */
  fallback: string;
  isSetByChart: boolean;
}

/** The rows of a program's table; a row may describe several variables. */
function documented(title: string): DocumentedVariable[] {
  const [, section = ""] = text("docs/configuration.md").split(`\n## ${title}\n`);
  const [table = ""] = section.split("\n## ");
  return table
    .split("\n")
    .filter((line) => line.startsWith("| `"))
    .flatMap((line) => {
      const [, names = "", defaults = "", chart = ""] = line.split("|").map((cell) => cell.trim());
      const fallbacks = defaults.includes("`, ") ? defaults.split(/, (?=`)/) : undefined;
      return names.split(", ").map((name, index) => ({
        name: name.slice(1, -1),
        fallback: fallbacks?.[index] ?? defaults,
        isSetByChart: chart !== "",
      }));
    });
}

async function renderedContainers(options: string[]): Promise<Container[]> {
  return (
    await render(...values("external"), "--set", "turn.enabled=true,turn.host=turn.example.com", ...options)
  ).flatMap(({ spec }) => spec?.template?.spec.containers ?? []);
}

describe("docs/configuration.md", function () {
  this.timeout(60_000);
  let containers: Container[];

  before(async () => {
    containers = (await Promise.all(renderings.map(renderedContainers))).flat();
  });

  for (const { title, source, container, parse, required } of programs) {
    describe(title, () => {
      const variables = documented(title);
      const names = variables.map(({ name }) => name);

      it("lists every variable that the program reads, once, and no other", () => {
        expect(names).to.have.same.members([...new Set(variablesOf(source))]);
      });

      it("states each variable's default", () => {
        const environment: Record<string, string> = required;
        const config = parse(environment);
        for (const { name, fallback } of variables) {
          const [, value] = /^`(.*)`$/.exec(fallback) ?? [];
          if (fallback === "required")
            expect(() => parse({ ...environment, [name]: undefined }), name).to.throw(name);
          if (value !== undefined && !names.includes(value))
            expect(parse({ ...environment, [name]: value }), name).to.deep.equal(config);
        }
      });

      it("marks the variables that the chart sets, and the chart sets none that the program does not read", () => {
        const set = new Set(
          containers
            .filter(({ name }) => name === container)
            .flatMap(({ env = [] }) => env.map(({ name }) => name)),
        );
        expect([...set]).to.have.same.members(
          variables.filter(({ isSetByChart }) => isSetByChart).map(({ name }) => name),
        );
      });
    });
  }
});

describe("session/README.md", () => {
  it("lists every variable that the streamer reads", () => {
    const [, section = ""] = text("session/README.md").split("## Streamer container");
    const rows = section.split("\n").filter((line) => line.startsWith("| `"));
    const names = rows.flatMap((row) =>
      [...(row.split("|")[1] ?? "").matchAll(/`([A-Z0-9_]+)`/g)].map(([, name]) => name),
    );
    // PATH is every program's.
    expect(names).to.have.same.members(
      variablesOf("session/streamer/src/config.ts").filter((name) => name !== "PATH"),
    );
  });
});

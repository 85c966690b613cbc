import { expect } from "chai";
import { RuleTester } from "oxlint/plugins-dev";
import plugin from "../../../tools/lint/plugin.js";
import { retiredTermsIn } from "../../../tools/lint/proseTerms.js";

const { documentedExports, fieldTerms, functionLength, queriesApart } = plugin.rules;
const rules = new RuleTester({ languageOptions: { parserOptions: { lang: "ts" } } });

rules.run("documentedExports", documentedExports, {
  valid: [
    "/** Adds. */\nexport function add(): void {}",
    "function own(): void {}\nexport type Text = string;",
    "/** Counts. */\nexport interface Meter { rate: number }\n\nexport function createMeter(): Meter { return { rate: 1 }; }",
    "/** Serves. */\ninterface Server { port: number }\n\nexport async function startServer(): Promise<Server> { return { port: 1 }; }",
  ],
  invalid: [
    { code: "export function add(): void {}", errors: [{ messageId: "missing" }] },
    { code: "// Adds.\nexport function add(): void {}", errors: [{ messageId: "missing" }] },
    { code: "export class Adder {}", errors: [{ messageId: "missing" }] },
    {
      code: "/** Counts. */\nexport interface Meter { rate: number }\n\nexport function readMeter(): Meter { return { rate: 1 }; }",
      errors: [{ messageId: "missing" }],
    },
    {
      code: "export interface Meter { rate: number }\n\nexport function createMeter(): Meter { return { rate: 1 }; }",
      errors: [{ messageId: "missing" }],
    },
  ],
});

const inner = `  function step() {\n${"    go();\n".repeat(5)}  }\n`;

rules.run("functionLength", functionLength, {
  valid: [
    { code: "function short() {\n  go();\n}", options: [{ max: 3 }] },
    // Two lines of each inner function are the outer one's.
    { code: `function create() {\n${inner}${inner}}`, options: [{ max: 7 }] },
  ],
  invalid: [
    {
      code: "function long() {\n  go();\n  go();\n}",
      options: [{ max: 3 }],
      errors: [{ messageId: "long", data: { name: "long", lines: 4, max: 3 } }],
    },
    {
      code: `function create() {\n${inner}  go();\n}`,
      options: [{ max: 4 }],
      errors: [{ messageId: "long" }, { messageId: "long" }],
    },
    { code: "const long = () => {\n  go();\n};", options: [{ max: 2 }], errors: [{ messageId: "long" }] },
  ],
});

rules.run("queriesApart", queriesApart, {
  valid: [
    "const game = await findGame(prisma, id);",
    "await prisma.game.create({ data });",
    "const { query } = request;",
  ],
  invalid: [
    "await client.query(text);",
    "await prisma.game.findFirst({ where });",
    "await prisma.game.updateManyAndReturn({ data });",
  ].map((code) => ({ code, errors: [{ messageId: "elsewhere" }] })),
});

/** Each source with the names in it that are refused. */
const refused: [code: string, ...names: string[]][] = [
  ["class Turnstile {}", "Turnstile"],
  ["interface StreamCurtain { hasten(): void; isWell: boolean }", "StreamCurtain", "hasten", "isWell"],
  ['type NodeHealth = "Well" | "Doubtful" | "Lost";', "Well", "Doubtful"],
  [
    "function fateOf(hopelessReasons: string[], { tellings: doubts }: Deps): void {}",
    "fateOf",
    "hopelessReasons",
    "doubts",
  ],
  [
    "const expectRefusal = 1, STORE_AWAY = 2, heldOffer = 3, [namesake] = [];",
    "expectRefusal",
    "STORE_AWAY",
    "heldOffer",
    "namesake",
  ],
  [
    "class PlayedOperator { #witnesses = 1; judgeAll() {} }\ntype JudgedVersion = string;",
    "PlayedOperator",
    "witnesses",
    "judgeAll",
    "JudgedVersion",
  ],
  ["const deps = { turnstile: 1, answer: 2 };", "turnstile"],
  [
    "function podEnding(): void {}\nconst endingOf = 1, everyAsk = 2, gameTag = 3, gameAccount = 4;",
    "podEnding",
    "endingOf",
    "everyAsk",
    "gameTag",
    "gameAccount",
  ],
  ["const answer = await fetch(url);\nfunction answerErrors(): void {}", "answer", "answerErrors"],
  ["interface Peer { answer: string }", "answer"],
  ["const stage = await OperatorFixture.start();", "stage"],
  [
    "class LaunchStage { stages = 1 }\nfunction run(stage: LaunchFixture): void {}",
    "LaunchStage",
    "stages",
    "stage",
  ],
];

rules.run("fieldTerms", fieldTerms, {
  valid: [
    // Words that are part of others, or the field's own in another place.
    "const wellKnown = 1, standingDelayMs = 2, isEnding = 3, wildcards = 4, gameTags = 5, lastPlayedAt = 6, answered = 7, wayOut = 8;",
    // Names of others.
    'import { Turnstile } from "turnstile";\nconst { answer, refusal } = message;\nuse({ answer: 1 });\nconnection.createAnswer();',
    // The answer to an offer.
    "interface WhepAnswer { sdp: string }\nconst sdpAnswer = 1;\nlet answer: WhepAnswer | undefined;",
    // The interface's field.
    'const launchStages = ["booting"] as const;\nconst LaunchStage = z.enum(launchStages);\ntype LaunchStage = z.infer<typeof LaunchStage>;\ninterface Progress { stage: LaunchStage }',
    "const stage = progress.stage;\nconst stageTitles: Record<LaunchStage, string> = titles;\nlaunchStages.map((stage) => stage);",
    'function session(stage?: Session["stage"]): void {}\nuse({ stage: "booting" });',
    // Sentences that say something else, comments that are no doc comments, and strings that are no
    // sentences.
    "/** Gives up after a minute. The agent goes away. What each key gives is said above. */\nconst a = 1;",
    '// Gives the slot.\nconst title = "Ended while you were away";',
    'it("gives the slot up", () => {});\nexpect("refusal");',
    { filename: "/repo/api/src/games/auditTrail.ts", code: "// auditTrail.ts" },
  ],
  invalid: [
    ...refused.map(([code, ...names]) => ({
      code,
      errors: names.map((name) => ({ message: new RegExp(`^“${name}” has a retired term\\. Say .+\\.$`) })),
    })),
    {
      code: "/** Lets the turnstile\n * decide the fate. */\nconst a = 1;",
      errors: [{ message: /“turnstile”.*semaphore/ }, { message: /“fate”.*action/ }],
    },
    {
      code: "/** Known weaknesses, while the store is away. */\nconst a = 1;",
      errors: [{ messageId: "text" }, { message: /“is away”.*unavailable/ }],
    },
    { code: "// The turnstile is gone.\nconst a = 1;", errors: [{ message: /“turnstile”.*semaphore/ }] },
    {
      code: 'const help = "Counts every refusal.";\nthrow new Error(`${store} is away`);',
      errors: [{ messageId: "text" }, { messageId: "text" }],
    },
    { code: "/** Gives the slot. */\nconst a = 1;", errors: [{ messageId: "returns" }] },
    { code: "/** Adds a node; gives its name. */\nconst a = 1;", errors: [{ messageId: "returns" }] },
    {
      code: 'describe("the database is away", () => { it(`is a ${kind} refusal`, () => {}); });',
      errors: [{ messageId: "text" }, { messageId: "text" }],
    },
    {
      filename: "/repo/api/src/http/answers.ts",
      code: "// answers.ts",
      errors: [{ message: /“answers”.*response/ }],
    },
    { filename: "/repo/tools/test/stage.ts", code: "// stage.ts", errors: [{ messageId: "file" }] },
    {
      filename: "/repo/test/integration/api/trail.test.ts",
      code: "// trail.test.ts",
      errors: [{ message: /“trail”.*auditTrail/ }],
    },
  ],
});

describe("the check of documents, scripts and programs in other languages", () => {
  const found = (text: string): string[] => retiredTermsIn(text).map(({ line, name }) => `${line} ${name}`);

  it("finds a retired term with its line, in any comment", () => {
    expect(found("# Title\n\nA refusal says why.\n  // Spoilt by a fault.\n/// It is judged.")).to.deep.equal(
      ["3 refusal", "4 Spoilt", "5 judged"],
    );
  });

  it("finds one that goes on in the next line", () => {
    expect(found("# The store is\n# away now.\n * A held\n * offer.")).to.deep.equal([
      "1 is away",
      "3 held offer",
    ]);
  });

  it("passes what is said otherwise", () => {
    expect(found("The agent goes away.\nlast-played-at: refused")).to.deep.equal([]);
  });
});

import { RuleTester } from "oxlint/plugins-dev";
import plugin from "../../../tools/lint/plugin.js";

const { documentedExports, functionLength, queriesApart } = plugin.rules;
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

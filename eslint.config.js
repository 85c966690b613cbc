import tseslint from "typescript-eslint";
import { documentedExports } from "./tools/lint/documentedExports.js";
import { fieldTerms } from "./tools/lint/fieldTerms.js";
import { functionLength } from "./tools/lint/functionLength.js";

/** The programs and what they share; who may import whom among them says dependency-cruiser.config.js. */
const packages = ["contracts", "runtime", "archive", "s3", "kube", "api", "operator", "kubectl", "node-agent", "packer", "streamer", "web"];

export default tseslint.config(
  { ignores: ["node_modules/", "**/dist/", "api/src/generated/", "test-results/"] },
  {
    files: ["**/*.ts", "**/*.tsx"],
    extends: [...tseslint.configs.strictTypeChecked],
    plugins: { joypod: { rules: { documentedExports, fieldTerms, functionLength } } },
    linterOptions: { reportUnusedDisableDirectives: "error" },
    languageOptions: {
      parserOptions: { project: ["./tsconfig.json", "./web/tsconfig.json"], tsconfigRootDir: import.meta.dirname },
    },
    rules: {
      "joypod/fieldTerms": "error",
      "@typescript-eslint/no-floating-promises": "error",
      "@typescript-eslint/consistent-type-imports": "error",
      "@typescript-eslint/switch-exhaustiveness-check": ["error", { considerDefaultExhaustiveForUnions: true }],
      "@typescript-eslint/restrict-template-expressions": ["error", { allowNumber: true, allowBoolean: true }],
      "@typescript-eslint/no-confusing-void-expression": ["error", { ignoreArrowShorthand: true, ignoreVoidOperator: true }],
      "@typescript-eslint/no-unnecessary-condition": ["error", { allowConstantLoopConditions: "only-allowed-literals" }],
      "max-lines": ["error", { max: 300, skipBlankLines: true, skipComments: true }],
      "@typescript-eslint/consistent-type-assertions": ["error", { assertionStyle: "as", objectLiteralTypeAssertions: "never" }],
      "no-console": "error",
      "no-empty": "error",
      "no-fallthrough": "error",
      "no-unsafe-finally": "error",
      "no-unused-private-class-members": "error",
      // What is taken out of an object is named for that alone.
      "@typescript-eslint/no-unused-vars": ["error", { ignoreRestSiblings: true }],
      "no-warning-comments": "error",
      // An error that stands for another one names it as its cause.
      "preserve-caught-error": "error",
      "max-depth": ["error", 4],
      eqeqeq: ["error", "always"],
    },
  },
  {
    files: ["**/*.ts", "**/*.tsx"],
    rules: {
      "no-restricted-imports": ["error", {
        patterns: [{ regex: `^(\\.\\./)+(${packages.join("|")})/src/`, message: "Reach another package by its subpath: #contracts/…, #kube/…." }],
      }],
    },
  },
  {
    files: [...packages, "tools"].flatMap((name) => [`${name}/**/*.ts`, `${name}/**/*.tsx`]),
    ignores: ["**/*.d.ts"],
    rules: {
      "joypod/documentedExports": "error",
      "joypod/functionLength": ["error", { max: 60 }],
      complexity: ["error", { max: 20 }],
    },
  },
  {
    // The table of all variables is read from top to bottom.
    files: ["**/config.ts"],
    rules: { "joypod/functionLength": "off" },
  },
  {
    files: ["api/**/*.ts", "operator/**/*.ts", "kubectl/**/*.ts", "node-agent/**/*.ts", "packer/**/*.ts", "streamer/**/*.ts", "kube/**/*.ts", "contracts/**/*.ts", "runtime/**/*.ts", "archive/**/*.ts"],
    ignores: ["**/config.ts", "**/main.ts", "**/packOnce.ts", "**/cli.ts", "**/*Child.ts", "**/*Worker.ts", "runtime/src/program.ts"],
    rules: {
      "no-restricted-properties": ["error",
        { object: "process", property: "env", message: "Configuration is parsed once, in config.ts." },
        { object: "process", property: "exit", message: "Only main.ts ends the process." }],
    },
  },
  {
    files: ["api/src/**/*.ts"],
    ignores: ["api/src/**/*{Queries,Query}.ts", "api/src/stores/*.ts"],
    rules: {
      "no-restricted-syntax": ["error", {
        selector: "CallExpression[callee.property.name=/^(query|find(Unique|First)(OrThrow)?|findMany|(create|update)Many(AndReturn)?|deleteMany)$/]",
        message: "SQL and Prisma's queries live in the noun's …Queries.ts: docs/decisions/0014-prisma-and-sql.md.",
      }],
    },
  },
  {
    files: ["test/**/*.ts"],
    rules: {
      // chai's property assertions (`to.be.true`) are expressions by design.
      "@typescript-eslint/no-unused-expressions": "off",
      "@typescript-eslint/no-non-null-assertion": "off",
    },
  },
  {
    files: ["tools/**/*.ts", "games/**/*.ts", "test/**/*.ts", "api/src/cli/cli.ts"],
    rules: { "no-console": "off" },
  },
);

import { defineConfig } from "oxlint";

/** Programs and shared packages. dependency-cruiser.config.js has the import rules. */
const packages = [
  "packages/contracts",
  "packages/runtime",
  "packages/archive",
  "packages/s3",
  "packages/kube",
  "packages/publish",
  "api",
  "operator",
  "kubectl",
  "node-agent",
  "session/packer",
  "session/streamer",
  "web",
];

/** Strict rules of typescript-eslint that take no options. */
const strictRules = [
  "await-thenable",
  "ban-ts-comment",
  "no-array-delete",
  "no-base-to-string",
  "no-deprecated",
  "no-duplicate-enum-values",
  "no-duplicate-type-constituents",
  "no-dynamic-delete",
  "no-empty-object-type",
  "no-explicit-any",
  "no-extra-non-null-assertion",
  "no-extraneous-class",
  "no-floating-promises",
  "no-for-in-array",
  "no-generated-empty-object-type",
  "no-implied-eval",
  "no-invalid-void-type",
  "no-meaningless-void-operator",
  "no-misused-new",
  "no-misused-promises",
  "no-misused-spread",
  "no-mixed-enums",
  "no-namespace",
  "no-non-null-asserted-nullish-coalescing",
  "no-non-null-asserted-optional-chain",
  "no-non-null-assertion",
  "no-redundant-type-constituents",
  "no-require-imports",
  "no-this-alias",
  "no-unnecessary-boolean-literal-compare",
  "no-unnecessary-template-expression",
  "no-unnecessary-type-arguments",
  "no-unnecessary-type-assertion",
  "no-unnecessary-type-constraint",
  "no-unnecessary-type-conversion",
  "no-unnecessary-type-parameters",
  "no-unsafe-argument",
  "no-unsafe-assignment",
  "no-unsafe-call",
  "no-unsafe-declaration-merging",
  "no-unsafe-enum-assignment",
  "no-unsafe-enum-comparison",
  "no-unsafe-function-type",
  "no-unsafe-member-access",
  "no-unsafe-return",
  "no-unsafe-unary-minus",
  "no-useless-default-assignment",
  "no-wrapper-object-types",
  "only-throw-error",
  "prefer-as-const",
  "prefer-literal-enum-member",
  "prefer-namespace-keyword",
  "prefer-promise-reject-errors",
  "prefer-reduce-type-parameter",
  "prefer-return-this-type",
  "related-getter-setter-pairs",
  "require-await",
  "triple-slash-reference",
  "unbound-method",
  "unified-signatures",
  "use-unknown-in-catch-callback-variable",
];

/** Relative imports into another package. */
const farImports = {
  regex: `^(\\.\\./)+(${packages.join("|")})/src/`,
  message: "Reach another package by its subpath: #contracts/…, #kube/….",
};

export default defineConfig({
  plugins: ["eslint", "typescript"],
  jsPlugins: ["./tools/lint/plugin.js"],
  categories: { correctness: "error" },
  options: { typeAware: true, reportUnusedDisableDirectives: "error" },
  ignorePatterns: ["**/*.js", "**/*.mjs", "**/dist/", "api/src/generated/", "test-results/"],
  rules: {
    ...Object.fromEntries(strictRules.map((name) => [`typescript/${name}`, "error" as const])),
    "typescript/consistent-type-assertions": [
      "error",
      { assertionStyle: "as", objectLiteralTypeAssertions: "never" },
    ],
    "typescript/consistent-type-imports": "error",
    "typescript/no-confusing-void-expression": [
      "error",
      { ignoreArrowShorthand: true, ignoreVoidOperator: true },
    ],
    "typescript/no-unnecessary-condition": [
      "error",
      { allowConstantLoopConditions: "only-allowed-literals" },
    ],
    // Names and keys are sorted as strings, as the default does.
    "typescript/require-array-sort-compare": "off",
    "typescript/restrict-plus-operands": [
      "error",
      {
        allowAny: false,
        allowBoolean: false,
        allowNullish: false,
        allowNumberAndString: false,
        allowRegExp: false,
      },
    ],
    "typescript/restrict-template-expressions": ["error", { allowNumber: true, allowBoolean: true }],
    "typescript/return-await": ["error", "error-handling-correctness-only"],
    "typescript/switch-exhaustiveness-check": ["error", { considerDefaultExhaustiveForUnions: true }],
    "no-array-constructor": "error",
    "no-console": "error",
    // Code matches terminal escapes and rejects control characters in archive names.
    "no-control-regex": "off",
    "no-empty": "error",
    "no-fallthrough": "error",
    // Setting a DOM property to itself can have an effect.
    "no-self-assign": ["error", { props: false }],
    // Destructuring names properties to leave them out.
    "no-unused-vars": ["error", { ignoreRestSiblings: true }],
    "no-useless-constructor": "error",
    "no-var": "error",
    "no-warning-comments": "error",
    "prefer-const": "error",
    "prefer-rest-params": "error",
    "prefer-spread": "error",
    // An error that replaces another keeps it as its cause.
    "preserve-caught-error": "error",
    "max-depth": ["error", 4],
    "max-lines": ["error", { max: 400 }],
    "joypod/lineLength": ["error", { max: 110 }],
    eqeqeq: ["error", "always"],
    "no-restricted-imports": [
      "error",
      {
        patterns: [farImports],
      },
    ],
  },
  overrides: [
    {
      files: ["test/**/*.ts", "test/**/*.tsx"],
      rules: {
        "no-restricted-imports": [
          "error",
          {
            patterns: [
              farImports,
              {
                regex: "^(\\.\\./){2,}(support|factories|e2e|bench)/",
                message: "Reach what tests share by its subpath: #test/support/…, #test/factories/….",
              },
            ],
          },
        ],
      },
    },
    {
      files: [...packages, "tools"].flatMap((name) => [`${name}/**/*.ts`, `${name}/**/*.tsx`]),
      excludeFiles: ["**/*.d.ts"],
      rules: {
        "joypod/documentedExports": "error",
        "joypod/functionLength": ["error", { max: 80 }],
        complexity: ["error", { max: 20 }],
      },
    },
    {
      // Long lists that read from top to bottom: variables, and the parts of a program.
      files: [
        "**/config.ts",
        "api/src/createDeps.ts",
        "node-agent/src/agent.ts",
        "node-agent/src/metrics.ts",
        "operator/src/operator.ts",
        "session/streamer/src/streamPipeline.ts",
      ],
      rules: { "joypod/functionLength": "off" },
    },
    {
      files: packages.filter((name) => name !== "web").map((name) => `${name}/**/*.ts`),
      excludeFiles: [
        "**/config.ts",
        "**/main.ts",
        "**/cli.ts",
        "**/*Child.ts",
        "**/*Worker.ts",
        "packages/runtime/src/program/program.ts",
      ],
      rules: {
        "no-restricted-properties": [
          "error",
          { object: "process", property: "env", message: "Configuration is parsed once, in config.ts." },
          { object: "process", property: "exit", message: "Only main.ts ends the process." },
        ],
      },
    },
    {
      files: ["api/src/**/*.ts"],
      excludeFiles: ["api/src/**/*{Queries,Query}.ts", "api/src/stores/*.ts"],
      rules: { "joypod/queriesApart": "error" },
    },
    {
      files: ["test/**/*.ts"],
      rules: {
        // chai's property assertions (`to.be.true`) are expressions by design.
        "no-unused-expressions": "off",
        "typescript/no-non-null-assertion": "off",
      },
    },
    {
      files: ["tools/**/*.ts", "games/**/*.ts", "test/**/*.ts", "api/src/cli/cli.ts"],
      rules: { "no-console": "off" },
    },
    {
      // Markup takes more lines than logic.
      files: ["web/**/*.tsx"],
      rules: { "joypod/functionLength": ["error", { max: 120 }] },
    },
    {
      // A suite lists its cases.
      files: ["test/**/*.ts"],
      rules: { "max-lines": ["error", { max: 640 }] },
    },
  ],
});

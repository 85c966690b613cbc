import tseslint from "typescript-eslint";

/** Which packages a package may import by subpath; design §3: everyone → contracts; api, operator, node-agent → kube. */
const arrows = {
  contracts: [],
  kube: [],
  api: ["#contracts", "#kube"],
  operator: ["#contracts", "#kube"],
  "node-agent": ["#contracts", "#kube"],
  streamer: ["#contracts"],
  web: ["#contracts"],
};

const packages = Object.keys(arrows);

/** Forbids every arrow that is not in the table, both by subpath and by relative path out of the package. */
function importArrows(name) {
  const others = packages.filter((other) => other !== name);
  const forbidden = ["#contracts", "#kube"].filter((subpath) => !arrows[name].includes(subpath) && subpath !== `#${name}`);
  return {
    files: [`${name}/**/*.ts`, `${name}/**/*.tsx`],
    rules: {
      "no-restricted-imports": ["error", {
        patterns: [
          ...forbidden.map((subpath) => ({ group: [`${subpath}/*`], message: `${name} may not import ${subpath}.` })),
          { group: ["#test/*"], message: "Programs do not import test code." },
          { regex: `^(\\.\\./)+(${others.join("|")})/`, message: "Reach another package by its subpath, along the arrows of design §3." },
        ],
      }],
    },
  };
}

export default tseslint.config(
  { ignores: ["node_modules/", "**/dist/", "api/src/generated/", "test-results/"] },
  {
    files: ["**/*.ts", "**/*.tsx"],
    extends: [...tseslint.configs.strictTypeChecked],
    languageOptions: {
      parserOptions: { project: ["./tsconfig.json", "./web/tsconfig.json"], tsconfigRootDir: import.meta.dirname },
    },
    rules: {
      "@typescript-eslint/no-floating-promises": "error",
      "@typescript-eslint/consistent-type-imports": "error",
      "@typescript-eslint/switch-exhaustiveness-check": ["error", { considerDefaultExhaustiveForUnions: true }],
      "@typescript-eslint/restrict-template-expressions": ["error", { allowNumber: true, allowBoolean: true }],
      "@typescript-eslint/no-confusing-void-expression": ["error", { ignoreArrowShorthand: true, ignoreVoidOperator: true }],
      "@typescript-eslint/no-unnecessary-condition": ["error", { allowConstantLoopConditions: "only-allowed-literals" }],
      "max-lines": ["error", { max: 300, skipBlankLines: true, skipComments: true }],
      "no-console": "error",
      eqeqeq: ["error", "always"],
    },
  },
  ...packages.map(importArrows),
  {
    files: ["api/**/*.ts", "operator/**/*.ts", "node-agent/**/*.ts", "streamer/**/*.ts", "kube/**/*.ts", "contracts/**/*.ts"],
    ignores: ["**/config.ts", "**/main.ts", "**/cli.ts", "**/*Child.ts", "**/*Worker.ts"],
    rules: {
      "no-restricted-properties": ["error",
        { object: "process", property: "env", message: "Configuration is parsed once, in config.ts." },
        { object: "process", property: "exit", message: "Only main.ts ends the process." }],
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
    files: ["tools/**/*.ts", "games/**/*.ts", "test/**/*.ts", "api/src/cli.ts"],
    rules: { "no-console": "off" },
  },
);

import tseslint from "typescript-eslint";

/** Finds each place of quickStart.ts, in the working directory, where a value's type is `any`, be it the program's own or the client's. */
export default tseslint.config({
  files: ["quickStart.ts"],
  plugins: { "@typescript-eslint": tseslint.plugin },
  languageOptions: { parser: tseslint.parser, parserOptions: { project: "tsconfig.json", tsconfigRootDir: process.cwd() } },
  rules: Object.fromEntries([
    "no-explicit-any", "no-unsafe-argument", "no-unsafe-assignment", "no-unsafe-call", "no-unsafe-member-access", "no-unsafe-return",
  ].map((rule) => [`@typescript-eslint/${rule}`, "error"])),
});

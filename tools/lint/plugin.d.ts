import type { RuleTester } from "oxlint/plugins-dev";

type Rule = Parameters<RuleTester["run"]>[1];

declare const plugin: {
  rules: Record<"documentedExports" | "functionLength" | "queriesApart", Rule>;
};
export default plugin;

import { documentedExports } from "./documentedExports.js";
import { functionLength } from "./functionLength.js";
import { lineLength } from "./lineLength.js";
import { queriesApart } from "./queriesApart.js";

/** The rules of this repository, as `joypod/…` in oxlint.config.ts. */
export default {
  meta: { name: "joypod" },
  rules: { documentedExports, functionLength, lineLength, queriesApart },
};

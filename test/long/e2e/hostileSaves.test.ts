import { hostileSavesOfSuite } from "../../e2e/support/hostileSaves.ts";

describe("hostile saves", () => {
  hostileSavesOfSuite([
    { acts: ["odd", "moving"], worst: [/^odd: done/, /^moving files: move/] },
    { acts: ["fill", "swap"], worst: [/^fill: done/, /^swap: done/] },
    { acts: ["names"], worst: [/^names made|^names so far: [2-9]\d{5}/] },
  ]);
});

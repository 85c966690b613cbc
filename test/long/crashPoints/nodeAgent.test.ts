import { describeSweep } from "#test/support/crashPoints/describeSweep.ts";

describeSweep("nodeAgent", "The node agent", {
  "cluster": { "PATCH gamesessions/status": 3, "PATCH gamenodes/status": 1, "POST events": 1 },
  "object store": { "PUT saves": 2 },
});

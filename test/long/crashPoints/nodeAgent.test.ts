import { describeSweep } from "#test/support/crashPoints/describeSweep.ts";

describeSweep("nodeAgent", "The node agent", {
  cluster: {
    // One more where the session is there before its game; of each an event.
    "PATCH gamesessions/status": { swept: 3, most: 4 },
    "POST events": { swept: 1, most: 3 },
    // One more where the download's progress is told before its end.
    "PATCH gamenodes/status": { swept: 1, most: 3 },
    // Every ten seconds.
    "PATCH leases": { swept: 1, least: 0, most: Infinity },
  },
  "object store": { "PUT saves": 2 },
});

import { describeSweep } from "#test/support/crashPoints/describeSweep.ts";

describeSweep("operator", "The operator", {
  cluster: {
    "POST pods": 1,
    "DELETE pods": 1,
    "PATCH pods": 1,
    "PATCH gamecaches": 2,
    // A fourth, and another deletion, where the API lets the finished object go only after the operator has
    // looked at it again.
    "PATCH gamesessions/status": { swept: 3, most: 4 },
    "DELETE gamesessions": { swept: 1, most: 2 },
    // What the node is to hold, with a session that waits for it and without one; what it holds, with the
    // progress of the download.
    "PATCH gamenodes": { swept: 2, most: 4 },
    "PATCH gamecaches/status": { swept: 2, most: 4 },
    // What is of no hurry is written every two or ten seconds at most.
    "PATCH gamenodes/status": { swept: 1, least: 0, most: 4 },
    // Series of events are written when there is time, and the lease is renewed every second.
    "POST events": { swept: 1, most: Infinity },
    "PUT leases": { swept: 1, most: Infinity },
  },
});

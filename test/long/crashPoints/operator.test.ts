import { describeSweep } from "#test/support/crashPoints/describeSweep.ts";

describeSweep("operator", "The operator", {
  cluster: {
    "PATCH gamesessions/status": 3, "POST pods": 1, "DELETE pods": 1, "PATCH pods": 1, "DELETE gamesessions": 1, "PATCH gamecaches": 2, "PATCH gamecaches/status": 2,
    "PATCH gamenodes": 1, "PATCH gamenodes/status": 1, "POST events": 1, "PUT leases": 1,
  },
});

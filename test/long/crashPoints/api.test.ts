import { describeSweep } from "#test/support/crashPoints/describeSweep.ts";

describeSweep("api", "The API", {
  database: {
    "COMMIT of insert-game": 1,
    "take-upload-lease": 1,
    "COMMIT of drop-upload-lease": 1,
    "COMMIT of mark-cache-applied": 2,
    "COMMIT of insert-game-session": 1,
    "mark-created": 1,
    "record-ready": 1,
    "extend-game-session": 1,
    "begin-stop": 1,
    "COMMIT of record-end": 1,
    "COMMIT of mark-game-deleted": 1,
    "claim-idempotency-key": 1,
    "touch-auth-session": 1,
    "note-partner-key-use": 1,
    "record-audit-event": 4,
    // Each look at a session whose save was reported, as far as its changes come one by one.
    "move-slot": { swept: 2, most: 8 },
  },
  cluster: {
    "PATCH gamecaches": 1,
    "POST gamesessions": 1,
    "PATCH gamesessions": 2,
    "DELETE gamecaches": 1,
    "PUT leases": { swept: 1, most: Infinity },
  },
  "object store": { "POST archives begin": 1, "PUT archives part": 1, "POST archives upload": 1 },
  // Each request that is counted, such as one that asks how things are.
  redis: { EVALSHA: { swept: 2, most: Infinity } },
});

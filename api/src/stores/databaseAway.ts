/** Whether the error means that the database is away or refuses work for now, so that the same request may succeed soon. */
export function isDatabaseAway(error: unknown): boolean {
  for (let cause = error, depth = 0; cause instanceof Error && depth < 5; cause = cause.cause, depth += 1) {
    const code = "code" in cause ? String(cause.code) : "";
    if (awayCodes.test(code) || awayMessages.test(cause.message)) return true;
  }
  return false;
}

/** Connection class, operator intervention, read-only during a failover, too many connections, and sockets' and Prisma's words for the same. */
const awayCodes = /^(?:08...|57P0[1-4]|57014|25006|53300|ECONNREFUSED|ECONNRESET|EPIPE|ETIMEDOUT|EAI_AGAIN|ENOTFOUND|P1001|P1002|P1008|P1017|P2024)$/;
const awayMessages = /^(?:timeout exceeded when trying to connect|Connection terminated|Query read timeout|Client has encountered a connection error)/;

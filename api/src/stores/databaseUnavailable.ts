/** Whether the error means that the database is unavailable or refuses work for now, so that the same request may succeed soon. */
export function isDatabaseUnavailable(error: unknown): boolean {
  for (let cause = error, depth = 0; typeof cause === "object" && cause !== null && depth < 5; cause = causeOf(cause), depth += 1) {
    const codes = ["code" in cause ? cause.code : undefined, "originalCode" in cause ? cause.originalCode : undefined];
    if (codes.some((code) => unavailableCodes.test(String(code)))) return true;
    if (cause instanceof Error && unavailableMessages.test(cause.message)) return true;
  }
  return false;
}

/** Prisma keeps what the driver said beside its own error, and what the server said in an object that is none. */
function causeOf(error: object): unknown {
  if ("meta" in error && typeof error.meta === "object" && error.meta !== null && "driverAdapterError" in error.meta) return error.meta.driverAdapterError;
  return "cause" in error ? error.cause : undefined;
}

/** Connection class, operator intervention, read-only during a failover, too many connections, and sockets' and Prisma's words for the same. */
const unavailableCodes = /^(?:08...|57P0[1-4]|57014|25006|53300|ECONNREFUSED|ECONNRESET|EPIPE|ETIMEDOUT|EAI_AGAIN|ENOTFOUND|P1001|P1002|P1008|P1017|P2024)$/;
const unavailableMessages = /^(?:timeout exceeded when trying to connect|Connection terminated|Query read timeout|Client has encountered a connection error)/;

/** Cause of a failed connection that a person must fix. */
export type ConnectionFailure = "untrusted" | "otherName" | "outdated" | "noTls" | "unknownHost";

/** Names for messages about a server. */
export interface ServerWords {
  /** Start of a sentence, for example "The database". */
  server: string;
  /** Variable with its address. */
  address: string;
  /** Variable of its CA file, and the chart value for it. */
  authority: string;
}

const codes: Readonly<Record<ConnectionFailure, RegExp>> = {
  untrusted:
    /^(?:UNABLE_TO_VERIFY_LEAF_SIGNATURE|UNABLE_TO_GET_ISSUER_CERT(?:_LOCALLY)?|SELF_SIGNED_CERT_IN_CHAIN|DEPTH_ZERO_SELF_SIGNED_CERT|CERT_SIGNATURE_FAILURE|CERT_UNTRUSTED|INVALID_CA|INVALID_PURPOSE)$/,
  otherName: /^ERR_TLS_CERT_ALTNAME_INVALID$/,
  outdated: /^(?:CERT_HAS_EXPIRED|CERT_NOT_YET_VALID)$/,
  noTls: /^(?:ERR_SSL_WRONG_VERSION_NUMBER|ERR_SSL_PACKET_LENGTH_TOO_LONG|EPROTO)$/,
  unknownHost: /^(?:ENOTFOUND|EAI_AGAIN)$/,
};

/** Messages of errors from libraries that drop the code. */
const messages: Readonly<Record<ConnectionFailure, RegExp>> = {
  untrusted:
    /self-signed certificate|unable to (?:verify the first certificate|get (?:local )?issuer certificate)|certificate signature failure/,
  otherName: /^Hostname\/IP does not match certificate/,
  outdated: /^certificate (?:has expired|is not yet valid)/,
  noTls: /^The server does not support SSL connections/,
  unknownHost: /^getaddrinfo (?:ENOTFOUND|EAI_AGAIN)/,
};

/**
 * Returns the cause of a failed connection from the error or its causes; undefined for temporary and other
 * errors.
 */
export function connectionFailureOf(error: unknown): ConnectionFailure | undefined {
  for (const { code, message } of causesOf(error)) {
    for (const failure of ["untrusted", "otherName", "outdated", "noTls", "unknownHost"] as const) {
      if (codes[failure].test(code) || messages[failure].test(message)) return failure;
    }
  }
  return undefined;
}

/** Returns a message that says what to do. It contains no values. */
export function connectionSentence(
  failure: ConnectionFailure,
  { server, address, authority }: ServerWords,
): string {
  switch (failure) {
    case "untrusted":
      return `${server} has a certificate from an untrusted authority. Add the certificate of the authority to ${authority}.`;
    case "otherName":
      return `${server} has a certificate for another host name than the one in ${address}. Use a name from the certificate, or issue a certificate for this name.`;
    case "outdated":
      return `${server} has a certificate that has expired or is not valid yet. Check the clocks, or renew it.`;
    case "noTls":
      return `${server} does not use TLS on this port, but ${address} or ${authority} requires it. Enable TLS on the server, or use its TLS port.`;
    case "unknownHost":
      return `The host name in ${address} cannot be resolved. Correct it.`;
  }
}

interface Cause {
  code: string;
  message: string;
}

const depthMax = 5;

/** Yields the codes and messages of the error and its causes. */
function* causesOf(error: unknown): Generator<Cause> {
  let cause = error;
  for (let depth = 0; depth < depthMax && typeof cause === "object" && cause !== null; depth += 1) {
    yield { code: wordOf(cause, "code"), message: wordOf(cause, "message") || wordOf(cause, "reason") };
    cause = nextOf(cause);
  }
}

function wordOf(error: object, name: string): string {
  const value: unknown = Reflect.get(error, name);
  return typeof value === "string" ? value : "";
}

/** Returns the next cause. Prisma keeps the driver's error in `meta`. */
function nextOf(error: object): unknown {
  const meta: unknown = Reflect.get(error, "meta");
  if (typeof meta === "object" && meta !== null && "driverAdapterError" in meta)
    return meta.driverAdapterError;
  return Reflect.get(error, "cause");
}

import { S3Error } from "minio";
import {
  connectionFailureOf,
  connectionSentence,
  type ServerWords,
} from "#runtime/network/connectionFailure.ts";

const authority = "S3_CA_FILE (the chart's s3.caSecret)";
const store: ServerWords = { server: "The object store", address: "S3_ENDPOINT", authority };
const tokenService: ServerWords = {
  server: "The token service",
  address: "AWS_ENDPOINT_URL_STS (the chart's s3.webIdentity.stsEndpoint)",
  authority,
};

/**
 * Returns a message for a permanent failure to reach the bucket, with what to do and without values;
 * undefined for temporary failures.
 */
export function objectStoreSentence(error: unknown): string | undefined {
  const identityError = webIdentityErrorIn(error);
  if (identityError !== undefined) return identitySentence(identityError);
  for (const cause of errorsOf(error)) {
    const sentence = responseSentence(cause);
    if (sentence !== undefined) return sentence;
  }
  const failure = connectionFailureOf(error);
  return failure === undefined ? undefined : connectionSentence(failure, store);
}

/** The client throws S3Error, and other errors for temporary failures such as a status of 500 or more. */
function responseSentence(error: Error): string | undefined {
  if (!(error instanceof StoreErrorResponse || error instanceof S3Error)) return undefined;
  const { code = "", message } = error;
  if (code === "") return error instanceof StoreErrorResponse && error.status >= 500 ? undefined : notS3;
  if (/^Authorization(?:HeaderMalformed|QueryParametersError)$/.test(code) && /region/i.test(message))
    return otherRegion;
  return sentences[code];
}

const notS3 =
  "The server at S3_ENDPOINT is not an object store. Correct the address; if the server only accepts TLS, start it with https://.";
const otherRegion = "The bucket in S3_BUCKET is in another region than S3_REGION. Correct the region.";
const noBucket = "The object store has no bucket with the name in S3_BUCKET. Create it, or correct the name.";
const endedKeys =
  "The object store rejects the temporary keys of the web identity, or S3_ACCESS_KEY is a temporary key. Use s3.webIdentity to renew keys.";

/** Messages by S3 error code. */
const sentences: Readonly<Record<string, string>> = {
  NoSuchBucket: noBucket,
  InvalidAccessKeyId:
    "The object store does not know the access key in S3_ACCESS_KEY. Correct it, or create the key in the object store.",
  SignatureDoesNotMatch:
    "The object store rejects the secret key in S3_SECRET_KEY, which does not belong to the access key in S3_ACCESS_KEY.",
  AccessDenied:
    "The access key may not use the bucket in S3_BUCKET. Attach the chart's policy (files/store-policies) to it.",
  AllAccessDisabled:
    "The access key may not use the bucket in S3_BUCKET. Attach the chart's policy (files/store-policies) to it.",
  PermanentRedirect: otherRegion,
  MovedPermanently: otherRegion,
  TemporaryRedirect: otherRegion,
  IllegalLocationConstraintException: otherRegion,
  RequestTimeTooSkewed: "The clocks of the object store and this program differ too much. Correct both.",
  ExpiredToken: endedKeys,
  InvalidToken: endedKeys,
  InvalidTokenId: endedKeys,
};

function identitySentence(error: WebIdentityError): string {
  switch (error.failure) {
    case "NoToken":
      return "The token file in AWS_WEB_IDENTITY_TOKEN_FILE cannot be read. Mount one with the chart (s3.webIdentity) or your cluster.";
    case "Refused":
      return `The token service rejects the web identity's token (${error.code ?? "no keys in the response"}). Compare its issuer, audience and subject with those that the role in AWS_ROLE_ARN trusts.`;
    case "Unreachable": {
      const failure = connectionFailureOf(error);
      return failure === undefined
        ? "The token service of the web identity does not respond."
        : connectionSentence(failure, tokenService);
    }
  }
}

function webIdentityErrorIn(error: unknown): WebIdentityError | undefined {
  for (const cause of errorsOf(error)) if (cause instanceof WebIdentityError) return cause;
  return undefined;
}

function* errorsOf(error: unknown): Generator<Error> {
  for (let cause = error, depth = 0; depth < 5 && cause instanceof Error; depth += 1, { cause } = cause)
    yield cause;
}

/** Why a token could not be exchanged for temporary keys. */
export type WebIdentityFailure = "NoToken" | "Unreachable" | "Refused";

/** A token could not be exchanged for temporary keys. The message contains neither. */
export class WebIdentityError extends Error {
  readonly failure: WebIdentityFailure;
  /** Error code of the token service. */
  readonly code: string | undefined;

  constructor(failure: WebIdentityFailure, message: string, cause?: unknown, code?: string) {
    super(message, { cause });
    this.name = "WebIdentityError";
    this.failure = failure;
    this.code = code;
  }
}

/** Error response of the object store. */
export class StoreErrorResponse extends Error {
  readonly status: number;
  /** S3 error code; undefined if the server sent none. */
  readonly code: string | undefined;

  constructor(status: number, code: string | undefined, message = "") {
    super(message);
    this.name = "StoreErrorResponse";
    this.status = status;
    this.code = code;
  }
}

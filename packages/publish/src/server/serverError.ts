import { z } from "zod";
import { PublishError } from "../publishError.ts";
import { UnreachableError, type HttpResponse } from "./httpClient.ts";

const Body = z.object({
  error: z.string(),
  message: z.string().optional(),
  details: z.array(z.object({ path: z.string(), message: z.string() })).optional(),
});

/** The server refused a request. */
export class ServerError extends PublishError {
  override readonly name = "ServerError";
  readonly status: number;
  /** The value of Retry-After; undefined if it is absent. */
  readonly retryAfterSeconds: number | undefined;

  constructor({ status, text, header }: Pick<HttpResponse, "status" | "text" | "header">) {
    const body = parseBody(text);
    const details = (body?.details ?? []).map(({ path, message }) =>
      path === "" ? message : `${path} ${message}`,
    );
    super(body?.error ?? "unexpected_response", messageOf(status, body?.message, header), { details });
    this.status = status;
    const seconds = Number(header("retry-after"));
    this.retryAfterSeconds = Number.isFinite(seconds) && seconds > 0 ? seconds : undefined;
  }
}

/** Returns whether Joypod, and not a proxy, says that there is no such object. */
export function isMissing(error: unknown): boolean {
  return error instanceof ServerError && error.status === 404 && error.code === "not_found";
}

/** Returns whether the same request may succeed later. */
export function isTemporary(error: unknown): boolean {
  if (error instanceof UnreachableError) return error.isTemporary;
  if (!(error instanceof ServerError)) return false;
  const { status, code } = error;
  return [408, 423, 429, 502, 503, 504].includes(status) || code === "upload_in_progress";
}

function parseBody(text: string): z.infer<typeof Body> | undefined {
  try {
    return Body.safeParse(JSON.parse(text)).data;
  } catch {
    // A proxy answers with a page.
    return undefined;
  }
}

function messageOf(status: number, message: string | undefined, header: HttpResponse["header"]): string {
  if (status === 401)
    return "The server does not accept this key. Check JOYPOD_API_KEY, and that JOYPOD_URL is the server that issued it.";
  if (message !== undefined) return message;
  const location = header("location");
  if (status >= 300 && status < 400 && location !== undefined)
    return `The server redirects to ${location}. Set JOYPOD_URL to that server's address.`;
  if (status === 413)
    return "A proxy in front of the server refuses a body of this size. Use a smaller --chunk-mib, or ask the admin.";
  return `The server responded with status ${status}, and not as Joypod does. Check JOYPOD_URL.`;
}

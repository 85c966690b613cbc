import type { z } from "zod";
import type { HeaderName } from "./openapi/responseHeaders.ts";

/** One way in which a route answers when it does not refuse. */
export interface Answer {
  description: string;
  /** What the body may be, by media type: a schema for JSON, and a sentence for what is not JSON. Without any, the body is empty. */
  content: Readonly<Record<string, z.ZodType | string>>;
  /** Headers beyond those of every answer of the route's kind; always present. */
  headers: readonly HeaderName[];
  /** Headers that may be there. */
  optionalHeaders: readonly HeaderName[];
}

/** Answers by status; a schema alone is a JSON body, described by its own words. */
export type Answers = Readonly<Record<number, z.ZodType | Answer>>;

interface AnswerOptions {
  headers?: readonly HeaderName[];
  optionalHeaders?: readonly HeaderName[];
}

/** A JSON body. */
export function json(schema: z.ZodType, description?: string, options: AnswerOptions = {}): Answer {
  return answerOf(description ?? describe(schema), { "application/json": schema }, options);
}

/** No body. */
export function empty(description: string, options: AnswerOptions = {}): Answer {
  return answerOf(description, {}, options);
}

/** A body that is not JSON, of one of these media types. */
export function media(types: readonly string[], description: string, options: AnswerOptions = {}): Answer {
  return answerOf(description, Object.fromEntries(types.map((type) => [type, description])), options);
}

/** Sends the browser on: 302 with `Location`. */
export function redirect(description: string, options: AnswerOptions = {}): Answer {
  return media(["text/plain"], description, { ...options, headers: ["Location", ...options.headers ?? []] });
}

/** Server-sent events. */
export function eventStream(description: string, options: AnswerOptions = {}): Answer {
  return media(["text/event-stream"], description, options);
}

/** 200 with an entity tag, and 304 for a client that has it already. */
export function cacheable(schema: z.ZodType, description?: string): Answers {
  return {
    200: json(schema, description, { headers: ["ETag"] }),
    304: empty("The same as the client has, by its `If-None-Match`.", { headers: ["ETag"] }),
  };
}

/** The long form of an answer. */
export function toAnswer(answer: z.ZodType | Answer): Answer {
  return "content" in answer ? answer : json(answer);
}

function answerOf(description: string, content: Answer["content"], { headers = [], optionalHeaders = [] }: AnswerOptions): Answer {
  return { description, content, headers, optionalHeaders };
}

function describe(schema: z.ZodType): string {
  const description = schema.meta()?.description;
  if (description === undefined) throw new Error("An answer's schema needs a description, or the answer does.");
  return description;
}

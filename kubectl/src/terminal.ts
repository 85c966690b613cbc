import type { Readable, Writable } from "node:stream";
import type { AttachedTerminal } from "#kube/client/podAttach.ts";
import { AdminError, exitCodes } from "./adminError.ts";

/** The process's streams. The optional parts are those of terminals. */
export interface ProcessStreams {
  stdin: Readable & { isTTY?: boolean; setRawMode?: (isRaw: boolean) => unknown };
  stdout: Writable & { isTTY?: boolean; columns?: number; rows?: number };
  stderr: Writable;
}

const defaultSize = { columns: 80, rows: 24 };
const secretMaxLength = 10_000;
/** What terminals send for keys, in raw mode. */
const keys = { interrupt: "\u0003", end: "\u0004", backspace: ["\u0008", "\u007f"], enter: ["\r", "\n"] };

/** Runs `work` with the terminal in raw mode, in which all keys reach the command. */
export async function withRawTerminal<T>(
  { stdin, stdout }: ProcessStreams,
  work: (terminal: AttachedTerminal) => Promise<T>,
): Promise<T> {
  stdin.setRawMode?.(true);
  try {
    return await work({
      size: () => ({
        columns: stdout.columns ?? defaultSize.columns,
        rows: stdout.rows ?? defaultSize.rows,
      }),
      onResize: (listener) => {
        stdout.on("resize", listener);
        return () => void stdout.off("resize", listener);
      },
    });
  } finally {
    stdin.setRawMode?.(false);
  }
}

/**
 * Asks for a secret in the terminal and returns it; what is typed is not shown.
 *
 * @throws AdminError when the admin interrupts it
 */
export async function readSecret({ stdin, stderr }: ProcessStreams, prompt: string): Promise<string> {
  stderr.write(prompt);
  stdin.setRawMode?.(true);
  try {
    let secret = "";
    for await (const chunk of stdin.iterator({ destroyOnReturn: false })) {
      for (const key of String(chunk)) {
        if (key === keys.interrupt) throw new AdminError("Interrupted.", exitCodes.interrupted);
        if (key === keys.end || keys.enter.includes(key)) return secret;
        if (keys.backspace.includes(key)) secret = Array.from(secret).slice(0, -1).join("");
        else if (secret.length < secretMaxLength) secret += key;
      }
    }
    return secret;
  } finally {
    stdin.setRawMode?.(false);
    stdin.pause();
    stderr.write("\n");
  }
}

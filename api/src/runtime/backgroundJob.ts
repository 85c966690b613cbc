/** Work that no request asks for. */
export interface BackgroundJob {
  start(): void | Promise<void>;
  /** Resolves when nothing of it runs any more. */
  stop(): Promise<void>;
}

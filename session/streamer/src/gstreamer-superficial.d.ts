/** The part of gstreamer-superficial that the streamer uses. The package has no types. */
declare module "gstreamer-superficial" {
  export interface BusMessage {
    type: string;
    "error-message"?: string;
  }
  /** An element by name. Its GObject properties are JavaScript properties, and an appsink can be pulled. */
  export interface Element {
    [property: string]: unknown;
    pull(callback: (buffer: Buffer | null) => void): void;
  }
  export class Pipeline {
    /** @throws Error when the description cannot be parsed or an element is missing. */
    constructor(description: string);
    play(): void;
    stop(): void;
    findChild(name: string): Element | undefined;
    /** Sends the force-key-unit event upstream from this element. */
    forceKeyUnit(element: string, count: number): void;
    pollBus(callback: (message: BusMessage | undefined) => void): void;
  }
  const gstreamer: { Pipeline: typeof Pipeline };
  export default gstreamer;
}

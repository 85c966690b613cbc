/** The part of gstreamer-superficial that the media child uses; the package has no types of its own. */
declare module "gstreamer-superficial" {
  export interface BusMessage {
    type: string;
    "error-message"?: string;
  }
  /** An element by name: its GObject properties are JavaScript properties, and an appsink also pulls. */
  export interface Element {
    [property: string]: unknown;
    pull(callback: (buffer: Buffer | null) => void): void;
  }
  export class Pipeline {
    /** Throws when the description cannot be parsed or an element is missing. */
    constructor(description: string);
    play(): void;
    stop(): void;
    findChild(name: string): Element | undefined;
    /** The force-key-unit event travels upstream from this element. */
    forceKeyUnit(element: string, count: number): void;
    pollBus(callback: (message: BusMessage | undefined) => void): void;
  }
  const gstreamer: { Pipeline: typeof Pipeline };
  export default gstreamer;
}

/** The part of x11 that the streamer uses. The package has no types. */
declare module "x11" {
  export type Callback<T> = (error: Error | null | undefined, value: T) => void;
  export interface WindowEvent {
    name: string;
    wid: number;
    /** In a ConfigureNotify, the resized window; `wid` is the watched one. */
    wid1?: number;
    /** The raw event. Its first byte has bit 0x80 set when a client sent it. */
    rawData: Buffer;
    x: number;
    y: number;
    width: number;
    height: number;
    message_type?: number;
    /** In a ClientMessage, its numbers. */
    data?: number[];
    /** In a ConfigureRequest, which values were requested. */
    mask?: number;
    /** In a MapNotify. */
    overrideRedirect?: boolean | number;
    /** Server time of a PropertyNotify or ButtonPress. */
    time?: number;
    type?: number;
  }
  export interface Property {
    type: number;
    data: Buffer;
  }
  export interface WindowAttributes {
    mapState: number;
    overrideRedirect: number;
  }
  export interface PointerState {
    rootX: number;
    rootY: number;
    /** Pressed modifiers and buttons. */
    keyMask: number;
  }
  export interface CursorImage {
    /** Pixels of 32 bits with premultiplied alpha. */
    cursorImage: Buffer;
  }
  export interface XFixes {
    SelectCursorInput(window: number, mask: number): void;
    GetCursorImage(callback: Callback<CursorImage>): void;
  }
  export interface XTest {
    KeyPress: 2;
    KeyRelease: 3;
    ButtonPress: 4;
    ButtonRelease: 5;
    MotionNotify: 6;
    FakeInput(type: number, detail: number, time: number, window: number, x: number, y: number): void;
  }
  export interface Xkb {
    UseCoreKbd: 0x100;
    ModMask: { Lock: 2; Mod2: 16 };
    NameDetail: { KeyTypeNames: 64 };
    majorOpcode: number;
    GetNames(device: number, details: number, callback: Callback<{ typeNames: number[] }>): void;
    UseExtension(major: number, minor: number, callback: Callback<unknown>): void;
    LatchLockState(
      device: number,
      affectedLocks: number,
      locks: number,
      lockGroup: boolean,
      group: number,
      affectedLatches: number,
      latches: number,
      latchGroup: boolean,
      groupLatch: number,
    ): void;
  }
  /** The part of RandR that the streamer and tests use. */
  export interface Randr {
    GetScreenResources(window: number, callback: Callback<ScreenResources>): void;
    CreateMode(
      window: number,
      mode: { name: string; width: number; height: number; dot_clock: number },
      callback: Callback<number>,
    ): void;
    AddOutputMode(output: number, mode: number): void;
    SetCrtcConfig(
      crtc: number,
      timestamp: number,
      configTimestamp: number,
      x: number,
      y: number,
      mode: number,
      rotation: number,
      outputs: number[],
      callback: Callback<{ status: number }>,
    ): void;
    SetScreenSize(window: number, width: number, height: number, widthMm: number, heightMm: number): void;
  }
  export interface ScreenResources {
    timestamp: number;
    config_timestamp: number;
    crtcs: number[];
    outputs: number[];
  }
  export interface Client {
    /** The queue holds requests that the socket has not accepted yet. */
    pack_stream: { write_queue: readonly unknown[]; put(request: Buffer): void; submit(): void };
    /** Number of the last request. A request that is put into the stream has to count it up. */
    seq_num: number;
    /** Numbers of atoms that the library knows, by name. */
    atoms: Record<string, number>;
    on(event: "error", listener: (error: Error) => void): void;
    on(event: "end", listener: () => void): void;
    on(event: "event", listener: (event: WindowEvent) => void): void;
    require(extension: "xtest", callback: Callback<XTest>): void;
    require(extension: "randr", callback: Callback<Randr>): void;
    /** Ends the connection. */
    terminate(): void;
    require(extension: "xkb", callback: Callback<Xkb>): void;
    require(extension: "fixes", callback: Callback<XFixes>): void;
    AllocID(): number;
    InternAtom(onlyIfExists: boolean, name: string, callback: Callback<number>): void;
    ChangeProperty(
      mode: number,
      window: number,
      property: number,
      type: number,
      format: number,
      data: Buffer,
    ): void;
    GetProperty(
      remove: number,
      window: number,
      property: number,
      type: number,
      offset: number,
      length: number,
      callback: Callback<Property>,
    ): void;
    SendEvent(window: number, propagate: boolean, mask: number, event: Buffer): void;
    SendClientMessage(
      destination: number,
      window: number,
      type: number,
      format: number,
      data: number[],
      mask: number,
    ): void;
    ConfigureWindow(window: number, values: Record<string, number>): void;
    SetInputFocus(window: number, revertTo: number): void;
    GetInputFocus(callback: Callback<{ focus: number }>): void;
    MapWindow(window: number): void;
    RaiseWindow(window: number): void;
    CreateWindow(
      window: number,
      parent: number,
      x: number,
      y: number,
      width: number,
      height: number,
      border: number,
      depth: number,
      kind: number,
      visual: number,
      values: Record<string, unknown>,
    ): void;
    ChangeWindowAttributes(window: number, values: Record<string, number>, callback?: Callback<void>): void;
    OpenFont(font: number, name: string): void;
    CreateGlyphCursor(
      cursor: number,
      font: number,
      mask: number,
      glyph: number,
      maskGlyph: number,
      foreground: Color,
      background: Color,
    ): void;
    QueryTree(window: number, callback: Callback<{ children: number[] }>): void;
    GetWindowAttributes(window: number, callback: Callback<WindowAttributes>): void;
    QueryPointer(window: number, callback: Callback<PointerState>): void;
    GetGeometry(
      window: number,
      callback: Callback<{ xPos: number; yPos: number; width: number; height: number }>,
    ): void;
    ListProperties(window: number, callback: Callback<number[]>): void;
    SetSelectionOwner(owner: number, selection: number): void;
    GrabButton(
      window: number,
      ownerEvents: number,
      mask: number,
      pointerMode: number,
      keyboardMode: number,
      confineTo: number,
      cursor: number,
      button: number,
      modifiers: number,
    ): void;
    UngrabButton(window: number, button: number, modifiers: number): void;
    AllowEvents(mode: number, time: number): void;
    GetKeyboardMapping(first: number, count: number, callback: Callback<number[][]>): void;
    GetModifierMapping(callback: Callback<number[][]>): void;
    SetModifierMapping(modifiers: number[][], callback: Callback<number>): void;
  }
  export interface Color {
    R: number;
    G: number;
    B: number;
  }
  export interface Display {
    client: Client;
    /** The bits of resource numbers that clients choose themselves; the others tell clients apart. */
    resource_mask: number;
    screen: { root: number; pixel_width: number; pixel_height: number }[];
  }
  const x11: { createClient(options: { display: string }, callback: Callback<Display>): void };
  export default x11;
}

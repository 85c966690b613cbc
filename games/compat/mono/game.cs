/* A game in C# with SDL 2, as FNA and MonoGame use it: it prints each input that it takes, plays a tone, and
 * saves the number of its sessions. */
using System;
using System.IO;
using System.Runtime.InteropServices;

static class Game {
    const string Sdl = "libSDL2-2.0.so.0";
    const uint Everything = 0x0000f231, FullScreenDesktop = 0x1001, WithVsync = 4;
    const int Centered = 0x2fff0000;
    const uint Quit = 0x100, KeyDown = 0x300, MouseMotion = 0x400, PadAdded = 0x653, PadButtonDown = 0x651;
    const ushort Signed16 = 0x8010;

    [StructLayout(LayoutKind.Explicit, Size = 64)]
    struct Event {
        [FieldOffset(0)] public uint Type;
        [FieldOffset(8)] public int Pad;
        [FieldOffset(12)] public byte Button;
        [FieldOffset(20)] public int Key;
        [FieldOffset(28)] public int X;
        [FieldOffset(32)] public int Y;
    }

    [StructLayout(LayoutKind.Sequential)]
    struct Rect {
        public int X, Y, Width, Height;
    }

    [UnmanagedFunctionPointer(CallingConvention.Cdecl)]
    delegate void AudioCallback(IntPtr data, IntPtr bytes, int length);

    [StructLayout(LayoutKind.Sequential)]
    struct AudioSpec {
        public int Rate;
        public ushort Format;
        public byte Channels, Silence;
        public ushort Samples, Padding;
        public uint Size;
        public AudioCallback Callback;
        public IntPtr Data;
    }

    [DllImport(Sdl)] static extern int SDL_Init(uint flags);
    [DllImport(Sdl)] static extern void SDL_Quit();
    [DllImport(Sdl)] static extern IntPtr SDL_GetError();
    [DllImport(Sdl)] static extern IntPtr SDL_CreateWindow(string title, int x, int y, int width, int height, uint flags);
    [DllImport(Sdl)] static extern IntPtr SDL_CreateRenderer(IntPtr window, int index, uint flags);
    [DllImport(Sdl)] static extern int SDL_SetRelativeMouseMode(int isOn);
    [DllImport(Sdl)] static extern int SDL_PollEvent(out Event next);
    [DllImport(Sdl)] static extern IntPtr SDL_GetKeyName(int key);
    [DllImport(Sdl)] static extern IntPtr SDL_GameControllerOpen(int index);
    [DllImport(Sdl)] static extern IntPtr SDL_GameControllerFromInstanceID(int id);
    [DllImport(Sdl)] static extern int SDL_GameControllerRumble(IntPtr pad, ushort strong, ushort weak, uint ms);
    [DllImport(Sdl)] static extern int SDL_SetRenderDrawColor(IntPtr renderer, byte red, byte green, byte blue, byte alpha);
    [DllImport(Sdl)] static extern int SDL_RenderClear(IntPtr renderer);
    [DllImport(Sdl)] static extern int SDL_RenderFillRect(IntPtr renderer, ref Rect rect);
    [DllImport(Sdl)] static extern void SDL_RenderPresent(IntPtr renderer);
    [DllImport(Sdl)] static extern uint SDL_OpenAudioDevice(IntPtr name, int isCapture, ref AudioSpec wanted, IntPtr got, int changes);
    [DllImport(Sdl)] static extern void SDL_PauseAudioDevice(uint device, int isPaused);

    static readonly short[] samples = new short[1024];
    static int at;

    static void PlayTone(IntPtr data, IntPtr bytes, int length) {
        int count = Math.Min(samples.Length, length / 2);
        for (int i = 0; i < count; i++) samples[i] = (short)(6000 * Math.Sin(440 * 6.2832 * at++ / 48000));
        Marshal.Copy(samples, 0, bytes, count);
    }

    static FileSystemWatcher Save() {
        string folder = Path.Combine(Environment.GetFolderPath(Environment.SpecialFolder.LocalApplicationData), "compat");
        string path = Path.Combine(folder, "save.txt");
        Directory.CreateDirectory(folder);
        int before = File.Exists(path) ? int.Parse(File.ReadAllText(path)) : 0;
        Console.WriteLine("sessions " + before);
        var watcher = new FileSystemWatcher(folder) { EnableRaisingEvents = true };
        File.WriteAllText(path, (before + 1).ToString());
        return watcher;
    }

    static int Main() {
        if (SDL_Init(Everything) != 0) {
            Console.WriteLine("SDL_Init: " + Marshal.PtrToStringAnsi(SDL_GetError()));
            return 1;
        }
        IntPtr window = SDL_CreateWindow("compat", Centered, Centered, 1280, 720, FullScreenDesktop);
        IntPtr renderer = SDL_CreateRenderer(window, -1, WithVsync);
        var tone = new AudioSpec { Rate = 48000, Format = Signed16, Channels = 1, Samples = 1024, Callback = PlayTone };
        uint sound = SDL_OpenAudioDevice(IntPtr.Zero, 0, ref tone, IntPtr.Zero, 0);
        if (sound == 0) Console.WriteLine("SDL_OpenAudioDevice: " + Marshal.PtrToStringAnsi(SDL_GetError()));
        SDL_PauseAudioDevice(sound, 0);
        SDL_SetRelativeMouseMode(1);
        var watcher = Save();
        bool isRunning = true;
        for (int frame = 0; isRunning; frame++) {
            Event next;
            while (SDL_PollEvent(out next) != 0) {
                if (next.Type == Quit) isRunning = false;
                if (next.Type == KeyDown) Console.WriteLine("key " + Marshal.PtrToStringAnsi(SDL_GetKeyName(next.Key)));
                if (next.Type == MouseMotion) Console.WriteLine("look " + next.X + " " + next.Y);
                if (next.Type == PadAdded) SDL_GameControllerOpen(next.Pad);
                if (next.Type == PadButtonDown) {
                    Console.WriteLine("pad " + next.Button);
                    SDL_GameControllerRumble(SDL_GameControllerFromInstanceID(next.Pad), 0x8000, 0x4000, 500);
                }
            }
            SDL_SetRenderDrawColor(renderer, 20, 40, 90, 255);
            SDL_RenderClear(renderer);
            var block = new Rect { X = 200 + frame % 300, Y = 200, Width = 300, Height = 300 };
            SDL_SetRenderDrawColor(renderer, 240, 160, 40, 255);
            SDL_RenderFillRect(renderer, ref block);
            SDL_RenderPresent(renderer);
        }
        Console.WriteLine("bye");
        watcher.Dispose();
        SDL_Quit();
        GC.KeepAlive(tone);
        return 0;
    }
}

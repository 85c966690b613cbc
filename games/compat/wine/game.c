/* A program for Windows: it prints each input that it takes, plays a tone, and saves the number of its
 * sessions. */
#define _WIN32_WINNT 0x0602
#include <windows.h>
#include <math.h>
#include <mmsystem.h>
#include <shlobj.h>
#include <stdio.h>
#include <xinput.h>

enum { RATE = 44100, FRAME_MS = 16 };

static short samples[RATE];
static int frame;

static void playTone(void) {
  static WAVEHDR header;
  HWAVEOUT output;
  WAVEFORMATEX format = {WAVE_FORMAT_PCM, 1, RATE, 2 * RATE, 2, 16, 0};
  for (int i = 0; i < RATE; i++) samples[i] = (short)(6000 * sin(440 * 6.2832 * i / RATE));
  MMRESULT result = waveOutOpen(&output, WAVE_MAPPER, &format, 0, 0, CALLBACK_NULL);
  if (result != MMSYSERR_NOERROR) {
    printf("waveOutOpen: %u\n", result);
    return;
  }
  header.lpData = (char *)samples;
  header.dwBufferLength = sizeof samples;
  header.dwFlags = WHDR_BEGINLOOP | WHDR_ENDLOOP;
  header.dwLoops = 100000;
  waveOutPrepareHeader(output, &header, sizeof header);
  waveOutWrite(output, &header, sizeof header);
}

static void save(void) {
  char path[MAX_PATH + 32];
  int before = 0;
  SHGetFolderPathA(NULL, CSIDL_APPDATA | CSIDL_FLAG_CREATE, NULL, 0, path);
  strcat(path, "\\compat.txt");
  FILE *file = fopen(path, "r");
  if (file && fscanf(file, "%d", &before) != 1) before = 0;
  if (file) fclose(file);
  printf("sessions %d\n", before);
  file = fopen(path, "w");
  if (file) fprintf(file, "%d\n", before + 1);
  if (file) fclose(file);
}

static void readPads(void) {
  static WORD before[XUSER_MAX_COUNT];
  for (DWORD pad = 0; pad < XUSER_MAX_COUNT; pad++) {
    XINPUT_STATE state;
    if (XInputGetState(pad, &state) != ERROR_SUCCESS) continue;
    if ((state.Gamepad.wButtons & XINPUT_GAMEPAD_A) && !(before[pad] & XINPUT_GAMEPAD_A)) {
      puts("pad a");
      XInputSetState(pad, &(XINPUT_VIBRATION){0x8000, 0x4000});
    }
    before[pad] = state.Gamepad.wButtons;
  }
}

static void draw(HWND window) {
  PAINTSTRUCT paint;
  RECT all, block = {200 + frame % 300, 200, 500 + frame % 300, 500};
  HBRUSH blue = CreateSolidBrush(RGB(20, 40, 90)), orange = CreateSolidBrush(RGB(240, 160, 40));
  HDC canvas = BeginPaint(window, &paint);
  GetClientRect(window, &all);
  FillRect(canvas, &all, blue);
  FillRect(canvas, &block, orange);
  EndPaint(window, &paint);
  DeleteObject(blue);
  DeleteObject(orange);
}

static LRESULT CALLBACK handle(HWND window, UINT message, WPARAM first, LPARAM second) {
  RAWINPUT input;
  UINT size = sizeof input;
  switch (message) {
  case WM_KEYDOWN:
    printf("key %c\n", (int)first);
    return 0;
  case WM_INPUT:
    if (GetRawInputData((HRAWINPUT)second, RID_INPUT, &input, &size, sizeof input.header) != (UINT)-1 &&
        input.header.dwType == RIM_TYPEMOUSE)
      printf("look %ld %ld\n", input.data.mouse.lLastX, input.data.mouse.lLastY);
    return DefWindowProcA(window, message, first, second);
  case WM_TIMER:
    frame++;
    readPads();
    InvalidateRect(window, NULL, FALSE);
    return 0;
  case WM_PAINT:
    draw(window);
    return 0;
  case WM_DESTROY:
    PostQuitMessage(0);
    return 0;
  }
  return DefWindowProcA(window, message, first, second);
}

int main(void) {
  setvbuf(stdout, NULL, _IONBF, 0);
  WNDCLASSA windowClass = {.lpfnWndProc = handle, .lpszClassName = "compat"};
  RegisterClassA(&windowClass);
  int width = GetSystemMetrics(SM_CXSCREEN), height = GetSystemMetrics(SM_CYSCREEN);
  HWND window = CreateWindowExA(0, "compat", "compat", WS_POPUP | WS_VISIBLE, 0, 0, width, height, NULL, NULL,
                                NULL, NULL);
  RAWINPUTDEVICE mouse = {1, 2, 0, window};
  RegisterRawInputDevices(&mouse, 1, sizeof mouse);
  ShowCursor(FALSE);
  ClipCursor(&(RECT){0, 0, width, height});
  save();
  playTone();
  SetTimer(window, 1, FRAME_MS, NULL);
  for (MSG next; GetMessageA(&next, NULL, 0, 0) > 0;) DispatchMessageA(&next);
  puts("bye");
  return 0;
}

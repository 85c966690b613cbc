/*
 * inputReader sdl-relative|sdl-warp|sdl-text|glfw|xi2: reads input as an engine does, and prints it.
 *
 *   ready              the window has the focus
 *   motion X Y         a movement by this distance
 *   button N down|up   a mouse button
 *   key down|up NAME   a key, by its position
 *   text TEXT          typed text
 */
#include <GLFW/glfw3.h>
#include <SDL2/SDL.h>
#include <X11/extensions/XInput2.h>
#include <stdio.h>
#include <string.h>

enum { WIDTH = 1280, HEIGHT = 720, FRAME_MS = 16 };

static void printKey(const SDL_KeyboardEvent *key) {
  if (key->repeat) return;
  printf("key %s %s\n", key->type == SDL_KEYDOWN ? "down" : "up", SDL_GetScancodeName(key->keysym.scancode));
}

static int readSdl(const char *mode) {
  int isWarping = !strcmp(mode, "sdl-warp");
  if (SDL_Init(SDL_INIT_VIDEO)) {
    fprintf(stderr, "%s\n", SDL_GetError());
    return 1;
  }
  SDL_Window *window = SDL_CreateWindow("input", 0, 0, WIDTH, HEIGHT, 0);
  if (!strcmp(mode, "sdl-relative")) SDL_SetRelativeMouseMode(SDL_TRUE);
  if (isWarping) SDL_ShowCursor(SDL_DISABLE);
  SDL_StartTextInput();
  for (;;) {
    SDL_Event event;
    while (SDL_PollEvent(&event)) {
      switch (event.type) {
      case SDL_WINDOWEVENT:
        if (event.window.event == SDL_WINDOWEVENT_FOCUS_GAINED) puts("ready");
        break;
      case SDL_MOUSEMOTION:
        printf("motion %d %d\n", event.motion.xrel, event.motion.yrel);
        if (isWarping && (event.motion.x != WIDTH / 2 || event.motion.y != HEIGHT / 2))
          SDL_WarpMouseInWindow(window, WIDTH / 2, HEIGHT / 2);
        break;
      case SDL_MOUSEBUTTONDOWN:
      case SDL_MOUSEBUTTONUP:
        printf("button %d %s\n", event.button.button, event.type == SDL_MOUSEBUTTONDOWN ? "down" : "up");
        break;
      case SDL_KEYDOWN:
      case SDL_KEYUP:
        printKey(&event.key);
        break;
      case SDL_TEXTINPUT:
        printf("text %s\n", event.text.text);
        break;
      case SDL_QUIT:
        return 0;
      }
    }
    SDL_Delay(FRAME_MS);
  }
}

static double lastX, lastY;
static int hasPosition;

static void moved(GLFWwindow *window, double x, double y) {
  (void)window;
  if (hasPosition) printf("motion %.0f %.0f\n", x - lastX, y - lastY);
  hasPosition = 1;
  lastX = x;
  lastY = y;
}

static void focused(GLFWwindow *window, int hasFocus) {
  (void)window;
  if (hasFocus) puts("ready");
}

static void typed(GLFWwindow *window, unsigned codepoint) {
  (void)window;
  char text[8] = {0};
  if (codepoint < 0x80) {
    text[0] = (char)codepoint;
  } else if (codepoint < 0x800) {
    text[0] = (char)(0xc0 | codepoint >> 6);
    text[1] = (char)(0x80 | (codepoint & 0x3f));
  } else {
    text[0] = (char)(0xe0 | codepoint >> 12);
    text[1] = (char)(0x80 | (codepoint >> 6 & 0x3f));
    text[2] = (char)(0x80 | (codepoint & 0x3f));
  }
  printf("text %s\n", text);
}

static void pressed(GLFWwindow *window, int key, int scancode, int action, int modifiers) {
  (void)window, (void)scancode, (void)modifiers;
  if (action != GLFW_REPEAT) printf("key %s %d\n", action == GLFW_PRESS ? "down" : "up", key);
}

static int readGlfw(void) {
  if (!glfwInit()) return 1;
  glfwWindowHint(GLFW_CLIENT_API, GLFW_NO_API);
  GLFWwindow *window = glfwCreateWindow(WIDTH, HEIGHT, "input", NULL, NULL);
  if (!window) return 1;
  glfwSetWindowFocusCallback(window, focused);
  glfwSetCursorPosCallback(window, moved);
  glfwSetKeyCallback(window, pressed);
  glfwSetCharCallback(window, typed);
  glfwSetInputMode(window, GLFW_CURSOR, GLFW_CURSOR_DISABLED);
  if (glfwGetWindowAttrib(window, GLFW_FOCUSED)) puts("ready");
  while (!glfwWindowShouldClose(window)) glfwWaitEventsTimeout(FRAME_MS / 1000.0);
  return 0;
}

/* Reads raw motion as it is reported, like Wine and many engines. */
static int readXi2(void) {
  Display *display = XOpenDisplay(NULL);
  int opcode, event, error;
  if (!display || !XQueryExtension(display, "XInputExtension", &opcode, &event, &error)) return 1;
  unsigned char bits[XIMaskLen(XI_LASTEVENT)] = {0};
  XISetMask(bits, XI_RawMotion);
  XISetMask(bits, XI_RawKeyPress);
  XIEventMask mask = {.deviceid = XIAllMasterDevices, .mask_len = sizeof bits, .mask = bits};
  XISelectEvents(display, DefaultRootWindow(display), &mask, 1);
  XSync(display, False);
  puts("ready");
  for (;;) {
    XEvent next;
    XNextEvent(display, &next);
    if (next.xcookie.type != GenericEvent || next.xcookie.extension != opcode) continue;
    if (!XGetEventData(display, &next.xcookie)) continue;
    const XIRawEvent *raw = next.xcookie.data;
    if (raw->evtype == XI_RawKeyPress) printf("key down %d\n", raw->detail);
    double distances[2] = {0, 0};
    const double *value = raw->raw_values;
    for (int axis = 0; raw->evtype == XI_RawMotion && axis < 2; axis++)
      if (XIMaskIsSet(raw->valuators.mask, axis)) distances[axis] = *value++;
    if (raw->evtype == XI_RawMotion) printf("motion %.0f %.0f\n", distances[0], distances[1]);
    XFreeEventData(display, &next.xcookie);
  }
}

int main(int count, char **arguments) {
  const char *mode = count > 1 ? arguments[1] : "";
  setvbuf(stdout, NULL, _IOLBF, 0);
  if (!strncmp(mode, "sdl-", 4)) return readSdl(mode);
  if (!strcmp(mode, "glfw")) return readGlfw();
  if (!strcmp(mode, "xi2")) return readXi2();
  fprintf(stderr, "usage: inputReader sdl-relative|sdl-warp|sdl-text|glfw|xi2\n");
  return 2;
}

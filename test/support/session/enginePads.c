/* Prints the gamepads and their input as SDL 2 (argument "sdl") or GLFW ("glfw") gives them to a game. */
#define GLFW_INCLUDE_NONE
#include <GLFW/glfw3.h>
#include <SDL2/SDL.h>
#include <stdio.h>
#include <string.h>

enum { MAX_PADS = 4, RUN_SECONDS = 60 };

static void printSdlEvent(const SDL_Event *event) {
  if (event->type == SDL_CONTROLLERDEVICEADDED) {
    SDL_GameController *pad = SDL_GameControllerOpen(event->cdevice.which);
    printf("added %s %s, haptics %d\n", SDL_GameControllerName(pad), SDL_GameControllerPath(pad),
           SDL_NumHaptics());
    SDL_GameControllerRumble(pad, 30000, 20000, 200);
  }
  const char *path = SDL_JoystickPath(SDL_JoystickFromInstanceID(event->cbutton.which));
  if (event->type == SDL_CONTROLLERDEVICEREMOVED) printf("removed %s\n", path);
  if (event->type == SDL_CONTROLLERBUTTONDOWN)
    printf("%s %s\n", path, SDL_GameControllerGetStringForButton(event->cbutton.button));
  if (event->type == SDL_CONTROLLERAXISMOTION)
    printf("%s %s %d\n", path, SDL_GameControllerGetStringForAxis(event->caxis.axis), event->caxis.value);
}

static int runSdl(void) {
  SDL_SetHint(SDL_HINT_JOYSTICK_ALLOW_BACKGROUND_EVENTS, "1");
  if (SDL_Init(SDL_INIT_GAMECONTROLLER | SDL_INIT_HAPTIC) != 0) {
    printf("init: %s\n", SDL_GetError());
    return 1;
  }
  printf("ready %d\n", SDL_NumJoysticks());
  SDL_Event event;
  while (SDL_GetTicks64() < RUN_SECONDS * 1000)
    if (SDL_WaitEventTimeout(&event, 10)) printSdlEvent(&event);
  return 0;
}

static void printConnection(int pad, int event) {
  printf("%s %d %s\n", event == GLFW_CONNECTED ? "connected" : "disconnected", pad,
         event == GLFW_CONNECTED ? glfwGetGamepadName(pad) : "");
}

static int runGlfw(void) {
  if (!glfwInit()) return 1;
  glfwSetJoystickCallback(printConnection);
  printf("ready\n");
  GLFWgamepadstate before[MAX_PADS];
  memset(before, 0, sizeof before);
  while (glfwGetTime() < RUN_SECONDS) {
    glfwWaitEventsTimeout(0.01);
    for (int pad = 0; pad < MAX_PADS; pad++) {
      GLFWgamepadstate state;
      if (!glfwGetGamepadState(pad, &state) || memcmp(&state, &before[pad], sizeof state) == 0) continue;
      before[pad] = state;
      printf("state %d A=%d up=%d x=%.1f trigger=%.1f\n", pad, state.buttons[GLFW_GAMEPAD_BUTTON_A],
             state.buttons[GLFW_GAMEPAD_BUTTON_DPAD_UP], state.axes[GLFW_GAMEPAD_AXIS_LEFT_X],
             state.axes[GLFW_GAMEPAD_AXIS_LEFT_TRIGGER]);
    }
  }
  return 0;
}

int main(int count, char **arguments) {
  setvbuf(stdout, NULL, _IOLBF, 0);
  return count > 1 && strcmp(arguments[1], "glfw") == 0 ? runGlfw() : runSdl();
}

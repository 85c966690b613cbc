/* Prints what SDL 3 reads of keys, text, mouse and gamepads, and vibrates a gamepad whose button is pressed.
 * The key F2 switches relative mode. */
#include <SDL3/SDL.h>
#include <stdio.h>

static void print(SDL_Window *window, const SDL_Event *event) {
  switch (event->type) {
  case SDL_EVENT_WINDOW_FOCUS_GAINED:
    puts("ready");
    break;
  case SDL_EVENT_KEY_DOWN:
  case SDL_EVENT_KEY_UP:
    if (!event->key.repeat)
      printf("key %s %s\n", event->key.down ? "down" : "up", SDL_GetScancodeName(event->key.scancode));
    if (event->key.down && event->key.scancode == SDL_SCANCODE_F2) {
      SDL_SetWindowRelativeMouseMode(window, !SDL_GetWindowRelativeMouseMode(window));
      printf("relative %d\n", SDL_GetWindowRelativeMouseMode(window));
    }
    break;
  case SDL_EVENT_TEXT_INPUT:
    printf("text %s\n", event->text.text);
    break;
  case SDL_EVENT_MOUSE_MOTION:
    printf("motion %g %g\n", event->motion.xrel, event->motion.yrel);
    break;
  case SDL_EVENT_MOUSE_BUTTON_DOWN:
    printf("button %d\n", event->button.button);
    break;
  case SDL_EVENT_MOUSE_WHEEL:
    printf("wheel %g %g\n", event->wheel.x, event->wheel.y);
    break;
  case SDL_EVENT_GAMEPAD_ADDED:
    printf("pad added %s\n", SDL_GetGamepadName(SDL_OpenGamepad(event->gdevice.which)));
    break;
  case SDL_EVENT_GAMEPAD_REMOVED:
    puts("pad removed");
    break;
  case SDL_EVENT_GAMEPAD_BUTTON_DOWN:
    printf("pad %s\n", SDL_GetGamepadStringForButton(event->gbutton.button));
    SDL_RumbleGamepad(SDL_GetGamepadFromID(event->gbutton.which), 0x8000, 0x4000, 500);
    break;
  case SDL_EVENT_GAMEPAD_AXIS_MOTION:
    printf("axis %s %d\n", SDL_GetGamepadStringForAxis(event->gaxis.axis), event->gaxis.value);
    break;
  }
}

int main(void) {
  setvbuf(stdout, NULL, _IOLBF, 0);
  if (!SDL_Init(SDL_INIT_VIDEO | SDL_INIT_GAMEPAD | SDL_INIT_HAPTIC)) return 1;
  SDL_Window *window;
  SDL_Renderer *renderer;
  SDL_CreateWindowAndRenderer("input", 1280, 720, 0, &window, &renderer);
  SDL_StartTextInput(window);
  for (;;) {
    SDL_Event event;
    while (SDL_WaitEventTimeout(&event, 16)) {
      if (event.type == SDL_EVENT_QUIT) return 0;
      print(window, &event);
    }
    SDL_RenderClear(renderer);
    SDL_RenderPresent(renderer);
  }
}

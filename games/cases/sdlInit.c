/* Starts each subsystem of SDL 2 alone, and then all together. */
#include <SDL2/SDL.h>
#include <stdio.h>

int main(void) {
  static const struct {
    const char *name;
    Uint32 flag;
  } subsystems[] = {{"VIDEO", SDL_INIT_VIDEO},          {"AUDIO", SDL_INIT_AUDIO},
                    {"JOYSTICK", SDL_INIT_JOYSTICK},    {"GAMECONTROLLER", SDL_INIT_GAMECONTROLLER},
                    {"HAPTIC", SDL_INIT_HAPTIC},        {"SENSOR", SDL_INIT_SENSOR},
                    {"EVERYTHING", SDL_INIT_EVERYTHING}};
  setvbuf(stdout, NULL, _IOLBF, 0);
  for (size_t i = 0; i < sizeof subsystems / sizeof *subsystems; i++) {
    int result = SDL_Init(subsystems[i].flag);
    printf("%s %d %s\n", subsystems[i].name, result, result ? SDL_GetError() : "");
    SDL_Quit();
  }
  puts("done");
  return 0;
}

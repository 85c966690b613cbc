/* fixedWindow [WIDTH HEIGHT]: a window of fixed size with a button at (20, 20), 100 by 40 pixels large. */
#include <SDL2/SDL.h>
#include <SDL2/SDL_opengl.h>
#include <stdio.h>
#include <stdlib.h>

int main(int count, char **arguments) {
  int width = count > 2 ? atoi(arguments[1]) : 640, height = count > 2 ? atoi(arguments[2]) : 480;
  setvbuf(stdout, NULL, _IOLBF, 0);
  if (SDL_Init(SDL_INIT_VIDEO) != 0) return 1;
  SDL_Window *window = SDL_CreateWindow("fixed", SDL_WINDOWPOS_CENTERED, SDL_WINDOWPOS_CENTERED, width,
                                        height, SDL_WINDOW_OPENGL);
  SDL_GL_CreateContext(window);
  SDL_GL_SetSwapInterval(1);
  for (;;) {
    SDL_Event event;
    while (SDL_PollEvent(&event)) {
      if (event.type == SDL_QUIT) return 0;
      if (event.type == SDL_MOUSEBUTTONDOWN) {
        SDL_GetWindowSize(window, &width, &height);
        printf("click %d %d in %dx%d\n", event.button.x, event.button.y, width, height);
      }
    }
    glDisable(GL_SCISSOR_TEST);
    glClearColor(1, 0, 0, 1);
    glClear(GL_COLOR_BUFFER_BIT);
    glEnable(GL_SCISSOR_TEST);
    glScissor(20, height - 60, 100, 40);
    glClearColor(0, 1, 0, 1);
    glClear(GL_COLOR_BUFFER_BIT);
    SDL_GL_SwapWindow(window);
  }
}

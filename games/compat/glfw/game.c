/* A game with GLFW and OpenGL: it prints each input that it takes, plays a tone, and saves the number of its
 * sessions. */
#include <GLFW/glfw3.h>
#include <math.h>
#include <pthread.h>
#include <pulse/simple.h>
#include <stdio.h>
#include <stdlib.h>

static void *playTone(void *unused) {
  pa_sample_spec format = {.format = PA_SAMPLE_S16LE, .rate = 48000, .channels = 1};
  pa_simple *sound =
      pa_simple_new(NULL, "compat", PA_STREAM_PLAYBACK, NULL, "tone", &format, NULL, NULL, NULL);
  short samples[4800];
  for (int at = 0; sound;) {
    for (int i = 0; i < 4800; i++) samples[i] = (short)(6000 * sin(440 * 6.2832 * at++ / 48000));
    pa_simple_write(sound, samples, sizeof samples, NULL);
  }
  return unused;
}

static void save(void) {
  char path[1024];
  snprintf(path, sizeof path, "%s/compat.txt", getenv("HOME"));
  FILE *file = fopen(path, "r");
  int before = 0;
  if (file && fscanf(file, "%d", &before) != 1) before = 0;
  if (file) fclose(file);
  printf("sessions %d\n", before);
  file = fopen(path, "w");
  if (file) fprintf(file, "%d\n", before + 1);
  if (file) fclose(file);
}

static void onKey(GLFWwindow *window, int key, int code, int action, int modifiers) {
  (void)window, (void)code, (void)modifiers;
  if (action == GLFW_PRESS) printf("key %d\n", key);
}

static double lastX, lastY;

static void onMove(GLFWwindow *window, double x, double y) {
  (void)window;
  printf("look %g %g\n", x - lastX, y - lastY);
  lastX = x;
  lastY = y;
}

int main(void) {
  setvbuf(stdout, NULL, _IOLBF, 0);
  if (!glfwInit()) return 1;
  GLFWmonitor *monitor = glfwGetPrimaryMonitor();
  const GLFWvidmode *mode = glfwGetVideoMode(monitor);
  GLFWwindow *window = glfwCreateWindow(mode->width, mode->height, "compat", monitor, NULL);
  if (!window) return 1;
  glfwMakeContextCurrent(window);
  glfwSwapInterval(1);
  glfwSetInputMode(window, GLFW_CURSOR, GLFW_CURSOR_DISABLED);
  glfwSetKeyCallback(window, onKey);
  glfwGetCursorPos(window, &lastX, &lastY);
  glfwSetCursorPosCallback(window, onMove);
  pthread_t tone;
  pthread_create(&tone, NULL, playTone, NULL);
  save();
  GLFWgamepadstate before = {0};
  for (int frame = 0; !glfwWindowShouldClose(window); frame++) {
    GLFWgamepadstate pad;
    if (glfwGetGamepadState(GLFW_JOYSTICK_1, &pad)) {
      if (pad.buttons[GLFW_GAMEPAD_BUTTON_A] && !before.buttons[GLFW_GAMEPAD_BUTTON_A]) puts("pad a");
      before = pad;
    }
    glDisable(GL_SCISSOR_TEST);
    glClearColor(0.1f, 0.2f, 0.4f, 1);
    glClear(GL_COLOR_BUFFER_BIT);
    glEnable(GL_SCISSOR_TEST);
    glScissor(200 + frame % 300, 200, 300, 300);
    glClearColor(0.9f, 0.6f, 0.2f, 1);
    glClear(GL_COLOR_BUFFER_BIT);
    glfwSwapBuffers(window);
    glfwPollEvents();
  }
  puts("bye");
  return 0;
}

/* A game that starts as engines do: it watches files, waits for devices and talks to its own server. Prints
 * "engine starts", or what failed. Needs nothing but the game image. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <dlfcn.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/inotify.h>
#include <sys/socket.h>
#include <unistd.h>

static void require(int isDone, const char *what) {
  if (isDone) return;
  perror(what);
  exit(1);
}

static void watchFiles(void) {
  int instance = inotify_init1(IN_CLOEXEC);
  require(instance >= 0, "inotify_init1");
  require(inotify_add_watch(instance, "/usr", IN_CREATE) > 0, "inotify_add_watch");
}

/* As SDL does, which loads libudev only if it is there. */
static void waitForDevices(void) {
  void *library = dlopen("libudev.so.1", RTLD_NOW);
  require(library != NULL, "libudev.so.1");
  void *(*open)(void), *(*monitor)(void *, const char *);
  int (*match)(void *, const char *, const char *), (*enable)(void *);
  *(void **)&open = dlsym(library, "udev_new");
  *(void **)&monitor = dlsym(library, "udev_monitor_new_from_netlink");
  *(void **)&match = dlsym(library, "udev_monitor_filter_add_match_subsystem_devtype");
  *(void **)&enable = dlsym(library, "udev_monitor_enable_receiving");
  void *events = monitor(open(), "udev");
  require(events != NULL, "udev_monitor_new_from_netlink");
  require(match(events, "input", NULL) >= 0, "udev_monitor_filter_add_match_subsystem_devtype");
  require(enable(events) >= 0, "udev_monitor_enable_receiving");
}

static void talkToServer(void) {
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
  socklen_t size = sizeof address;
  char byte = 0;
  int server = socket(AF_INET, SOCK_STREAM, 0), client = socket(AF_INET, SOCK_STREAM, 0);
  require(bind(server, (struct sockaddr *)&address, size) == 0, "bind");
  require(listen(server, 1) == 0, "listen");
  require(getsockname(server, (struct sockaddr *)&address, &size) == 0, "getsockname");
  require(connect(client, (struct sockaddr *)&address, size) == 0, "connect");
  int accepted = accept(server, NULL, NULL);
  require(write(client, "x", 1) == 1 && read(accepted, &byte, 1) == 1 && byte == 'x', "accept");
}

/* As libraries do that wrap a function themselves: the next one after the program is the shim's. */
static void lookUpNext(void) {
  require(dlsym(RTLD_NEXT, "socket") == dlsym(RTLD_DEFAULT, "socket"), "dlsym");
}

int main(void) {
  lookUpNext();
  watchFiles();
  waitForDevices();
  talkToServer();
  puts("engine starts");
  return 0;
}

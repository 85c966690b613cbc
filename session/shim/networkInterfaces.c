/* The list of network interfaces, which the C library reads from a netlink socket: only the loopback one. */
#define _GNU_SOURCE
#include <errno.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

#include "next.h"

/* freeifaddrs frees the first entry only: all are in one block. */
struct list {
  struct ifaddrs entries[2];
  struct sockaddr_in address, mask;
  struct sockaddr_in6 address6, mask6;
  char name[3];
};

OVERRIDES(getifaddrs)
OVERRIDE int getifaddrs(struct ifaddrs **first) {
  if (NEXT(getifaddrs)(first) == 0) return 0;
  if (errno != EAFNOSUPPORT) return -1;
  struct list *list = calloc(1, sizeof *list);
  if (!list) return -1;
  const unsigned flags = IFF_UP | IFF_LOOPBACK | IFF_RUNNING;
  strcpy(list->name, "lo");
  list->address = (struct sockaddr_in){.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
  list->mask = (struct sockaddr_in){.sin_family = AF_INET, .sin_addr = {htonl(IN_CLASSA_NET)}};
  list->address6 = (struct sockaddr_in6){.sin6_family = AF_INET6, .sin6_addr = in6addr_loopback};
  list->mask6 = (struct sockaddr_in6){.sin6_family = AF_INET6};
  memset(&list->mask6.sin6_addr, 0xff, sizeof list->mask6.sin6_addr);
  list->entries[0] = (struct ifaddrs){.ifa_next = &list->entries[1],
                                      .ifa_name = list->name,
                                      .ifa_flags = flags,
                                      .ifa_addr = (struct sockaddr *)&list->address,
                                      .ifa_netmask = (struct sockaddr *)&list->mask};
  list->entries[1] = (struct ifaddrs){.ifa_name = list->name,
                                      .ifa_flags = flags,
                                      .ifa_addr = (struct sockaddr *)&list->address6,
                                      .ifa_netmask = (struct sockaddr *)&list->mask6};
  *first = list->entries;
  return 0;
}

#define _GNU_SOURCE
#include "loopbackAddress.h"

#include <arpa/inet.h>
#include <errno.h>
#include <net/if.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "observations.h"
#include "originals.h"

enum {
  V4_START = 12,
  LOOPBACK_NET = 127,
  MAX_FOLDER = 50,
  V6_LENGTH = 24 /* RFC 2133 */,
  MAX_INTERFACES = 16
};

static const char defaultFolder[] = "/tmp/.loopback";

const char *loopbackFolder(void) {
  const char *folder = getenv("JOYPOD_LOOPBACK");
  return folder && *folder == '/' && strlen(folder) <= MAX_FOLDER ? folder : defaultFolder;
}

bool isIPv4(const struct endpoint *endpoint) { return IN6_IS_ADDR_V4MAPPED(&endpoint->address); }

static const uint8_t *v4Bytes(const struct endpoint *endpoint) {
  return endpoint->address.s6_addr + V4_START;
}

bool isWildcard(const struct endpoint *endpoint) {
  static const uint8_t none[4];
  return isIPv4(endpoint) ? memcmp(v4Bytes(endpoint), none, sizeof none) == 0
                          : IN6_IS_ADDR_UNSPECIFIED(&endpoint->address);
}

bool isMulticast(const struct endpoint *endpoint) {
  return isIPv4(endpoint) ? (v4Bytes(endpoint)[0] & 0xf0) == 0xe0 : IN6_IS_ADDR_MULTICAST(&endpoint->address);
}

/* Returns whether an interface of the pod has this IPv4 address. Programs find it by the machine's name, and
 * connect to themselves. */
static bool isOwnV4(const struct endpoint *endpoint) {
  struct ifreq interfaces[MAX_INTERFACES];
  struct ifconf list = {.ifc_len = sizeof interfaces, .ifc_req = interfaces};
  int s = originalSocket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (s < 0) return false;
  size_t count = ioctl(s, SIOCGIFCONF, &list) == 0 ? (size_t)list.ifc_len / sizeof *interfaces : 0;
  close(s);
  for (size_t i = 0; i < count; i++) {
    struct sockaddr_in in;
    memcpy(&in, &interfaces[i].ifr_addr, sizeof in);
    if (in.sin_family == AF_INET && memcmp(&in.sin_addr, v4Bytes(endpoint), sizeof in.sin_addr) == 0)
      return true;
  }
  return false;
}

bool isLocal(const struct endpoint *endpoint) {
  if (isWildcard(endpoint)) return true;
  if (!isIPv4(endpoint)) return IN6_IS_ADDR_LOOPBACK(&endpoint->address);
  return v4Bytes(endpoint)[0] == LOOPBACK_NET || isOwnV4(endpoint);
}

static struct endpoint mapV4(struct in_addr address, uint16_t port) {
  struct endpoint endpoint = {.port = port};
  endpoint.address.s6_addr[10] = endpoint.address.s6_addr[11] = 0xff;
  memcpy(endpoint.address.s6_addr + V4_START, &address, sizeof address);
  return endpoint;
}

struct endpoint wildcardAt(int family, uint16_t port) {
  if (family == AF_INET) return mapV4((struct in_addr){INADDR_ANY}, port);
  return (struct endpoint){.address = in6addr_any, .port = port};
}

int refuseRemote(const struct endpoint *endpoint) {
  char address[INET6_ADDRSTRLEN] = "", text[INET6_ADDRSTRLEN + 8];
  if (isIPv4(endpoint))
    inet_ntop(AF_INET, v4Bytes(endpoint), address, sizeof address);
  else
    inet_ntop(AF_INET6, &endpoint->address, address, sizeof address);
  snprintf(text, sizeof text, isIPv4(endpoint) ? "%s:%u" : "[%s]:%u", address, endpoint->port);
  observe("connect", text);
  errno = ENETUNREACH;
  return -1;
}

struct endpoint asLoopback(const struct endpoint *endpoint, bool isV4) {
  if (!isWildcard(endpoint)) return *endpoint;
  if (isV4) return mapV4((struct in_addr){htonl(INADDR_LOOPBACK)}, endpoint->port);
  return (struct endpoint){.address = in6addr_loopback, .port = endpoint->port};
}

bool readEndpoint(const struct sockaddr *address, socklen_t length, int family, struct endpoint *endpoint) {
  bool isV4 = family == AF_INET;
  if (!address || length < (isV4 ? sizeof(struct sockaddr_in) : V6_LENGTH)) {
    errno = EINVAL;
    return false;
  }
  if (address->sa_family != family && !(isV4 && address->sa_family == AF_UNSPEC)) {
    errno = EAFNOSUPPORT;
    return false;
  }
  if (isV4) {
    struct sockaddr_in in;
    memcpy(&in, address, sizeof in);
    *endpoint = mapV4(in.sin_addr, ntohs(in.sin_port));
  } else {
    struct sockaddr_in6 in = {0};
    memcpy(&in, address, length < sizeof in ? length : sizeof in);
    *endpoint = (struct endpoint){.address = in.sin6_addr, .port = ntohs(in.sin6_port)};
  }
  return true;
}

static void writeAddress(const void *from, socklen_t size, struct sockaddr *address, socklen_t *length) {
  memcpy(address, from, *length < size ? *length : size);
  *length = size;
}

void writeEndpoint(const struct endpoint *endpoint, int family, struct sockaddr *address, socklen_t *length) {
  if (family == AF_INET) {
    struct sockaddr_in in = {.sin_family = AF_INET, .sin_port = htons(endpoint->port)};
    if (isIPv4(endpoint)) memcpy(&in.sin_addr, v4Bytes(endpoint), sizeof in.sin_addr);
    writeAddress(&in, sizeof in, address, length);
  } else {
    struct sockaddr_in6 in = {
        .sin6_family = AF_INET6, .sin6_port = htons(endpoint->port), .sin6_addr = endpoint->address};
    writeAddress(&in, sizeof in, address, length);
  }
}

struct sockaddr_un nameOf(const struct endpoint *endpoint, int type) {
  struct sockaddr_un name = {.sun_family = AF_UNIX};
  char address[INET6_ADDRSTRLEN];
  if (isIPv4(endpoint))
    inet_ntop(AF_INET, v4Bytes(endpoint), address, sizeof address);
  else
    inet_ntop(AF_INET6, &endpoint->address, address, sizeof address);
  snprintf(name.sun_path, sizeof name.sun_path, "%s/%s_%s_%u%s", loopbackFolder(),
           type == SOCK_STREAM ? "tcp" : "udp", address, endpoint->port, endpoint->onlyV6 ? "_v6" : "");
  return name;
}

bool readName(const struct sockaddr_un *name, socklen_t length, struct endpoint *endpoint) {
  char path[sizeof name->sun_path + 1] = "", text[INET6_ADDRSTRLEN];
  const char *folder = loopbackFolder();
  unsigned port;
  struct in_addr v4;
  if (length <= offsetof(struct sockaddr_un, sun_path) || name->sun_family != AF_UNIX) return false;
  memcpy(path, name->sun_path, length - offsetof(struct sockaddr_un, sun_path));
  if (strncmp(path, folder, strlen(folder)) != 0) return false;
  if (sscanf(path + strlen(folder), "/%*3[a-z]_%45[0-9a-f.:]_%u", text, &port) != 2) return false;
  if (inet_pton(AF_INET, text, &v4) == 1) {
    *endpoint = mapV4(v4, (uint16_t)port);
    return true;
  }
  *endpoint = (struct endpoint){.port = (uint16_t)port};
  return inet_pton(AF_INET6, text, &endpoint->address) == 1;
}

int findCandidates(const struct endpoint *target, struct endpoint candidates[MAX_CANDIDATES]) {
  int count = 0;
  struct endpoint any = wildcardAt(AF_INET6, target->port), onlyV6 = any;
  onlyV6.onlyV6 = true;
  candidates[count++] = asLoopback(target, isIPv4(target));
  candidates[count++] = isIPv4(target) ? wildcardAt(AF_INET, target->port) : onlyV6;
  candidates[count++] = any;
  return count;
}

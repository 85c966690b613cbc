/* A statically linked game that opens a TCP socket. Exits with the errno. */
#include <errno.h>
#include <sys/socket.h>

int main(void) { return socket(AF_INET, SOCK_STREAM, 0) < 0 ? errno : 0; }

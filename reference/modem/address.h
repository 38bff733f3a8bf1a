// Sockets for datagrams: Unix, or UDP on loopback.
#ifndef MODEM_ADDRESS_H
#define MODEM_ADDRESS_H

#include <sys/socket.h>

struct address {
    struct sockaddr_storage storage;
    socklen_t length; // 0: none
};

// An address that is wrong, or cannot be bound, ends the program with one line that names the option.
struct address address_read(const char *option, const char *text);
// The name of a Unix socket is removed when the program exits.
int address_bind(const char *option, const char *text, const struct address *address);

#endif

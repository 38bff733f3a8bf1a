#include "address.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/un.h>
#include <unistd.h>

#include "options.h"

#define SOCKET_BUFFER (4 << 20)
#define MOST_NAMES 2

static char names[MOST_NAMES][sizeof ((struct sockaddr_un *)NULL)->sun_path];
static int name_count;

static int read_unix(const char *path, struct address *address);
static int read_udp(const char *text, struct address *address);
static void remove_names(void);
static void remove_stale(const struct address *address);

struct address address_read(const char *option, const char *text)
{
    struct address address;
    memset(&address, 0, sizeof address);
    int is_right = strncmp(text, "unix:", 5) == 0 ? read_unix(text + 5, &address) : read_udp(text, &address);
    if (!is_right)
        options_refuse(option, "unix:PATH with a path of at most 107 bytes, or a loopback address with a port, such as 127.0.0.1:5000 or [::1]:5000", text);
    return address;
}

int address_bind(const char *option, const char *text, const struct address *address)
{
    int family = address->storage.ss_family;
    int descriptor = socket(family, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (family == AF_UNIX)
        remove_stale(address);
    if (descriptor < 0 || bind(descriptor, (const struct sockaddr *)&address->storage, address->length) != 0) {
        char expected[128];
        snprintf(expected, sizeof expected, "an address that can be bound (%s)", strerror(errno));
        options_refuse(option, expected, text);
    }
    if (family == AF_UNIX) {
        if (name_count == 0)
            atexit(remove_names);
        if (name_count < MOST_NAMES)
            strcpy(names[name_count++], ((const struct sockaddr_un *)&address->storage)->sun_path);
    }
    // Datagrams wait here while a frame is modulated. What the kernel does not permit is not needed at common rates.
    int size = SOCKET_BUFFER;
    (void)setsockopt(descriptor, SOL_SOCKET, SO_RCVBUF, &size, sizeof size);
    (void)setsockopt(descriptor, SOL_SOCKET, SO_SNDBUF, &size, sizeof size);
    return descriptor;
}

static void remove_names(void)
{
    for (int i = 0; i < name_count; i++)
        unlink(names[i]);
}

static int read_unix(const char *path, struct address *address)
{
    struct sockaddr_un *unix_address = (struct sockaddr_un *)&address->storage;
    if (*path == '\0' || strlen(path) >= sizeof unix_address->sun_path)
        return 0;
    unix_address->sun_family = AF_UNIX;
    strcpy(unix_address->sun_path, path);
    address->length = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + strlen(path) + 1);
    return 1;
}

static int read_udp(const char *text, struct address *address)
{
    char host[64];
    const char *colon = strrchr(text, ':');
    if (colon == NULL || (size_t)(colon - text) >= sizeof host)
        return 0;
    memcpy(host, text, (size_t)(colon - text));
    host[colon - text] = '\0';
    const char *digits = colon + 1;
    size_t count = strspn(digits, "0123456789");
    unsigned long port = strtoul(digits, NULL, 10);
    if (count == 0 || count > 5 || digits[count] != '\0' || port == 0 || port > 65535)
        return 0;

    struct sockaddr_in *four = (struct sockaddr_in *)&address->storage;
    if (inet_pton(AF_INET, host, &four->sin_addr) == 1) {
        four->sin_family = AF_INET;
        four->sin_port = htons((uint16_t)port);
        address->length = sizeof *four;
        return ntohl(four->sin_addr.s_addr) >> 24 == 127;
    }
    struct sockaddr_in6 *six = (struct sockaddr_in6 *)&address->storage;
    if (strcmp(host, "[::1]") != 0)
        return 0;
    six->sin6_family = AF_INET6;
    six->sin6_addr = in6addr_loopback;
    six->sin6_port = htons((uint16_t)port);
    address->length = sizeof *six;
    return 1;
}

// The name of a socket that no program has open any more.
static void remove_stale(const struct address *address)
{
    int probe = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (probe >= 0 && connect(probe, (const struct sockaddr *)&address->storage, address->length) != 0 && errno == ECONNREFUSED)
        unlink(((const struct sockaddr_un *)&address->storage)->sun_path);
    if (probe >= 0)
        close(probe);
}

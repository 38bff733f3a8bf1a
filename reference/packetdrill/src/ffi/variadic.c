/*
 * fcntl and ioctl of packetdrill's interface. They are variadic, which stable Rust can call but
 * not define; here the one argument that may follow is read and handed on.
 *
 * `userdata` points to a struct that begins with the two functions to call (`Userdata` in
 * mod.rs), so that nothing has to be exported for this.
 */
#include <stdarg.h>

struct userdata {
	int (*fcntl)(void *userdata, int fd, int command, int argument);
	int (*ioctl)(void *userdata, int fd, unsigned long request, int *argument);
};


int headway_packetdrill_fcntl(void *userdata, int fd, int command, ...);
int headway_packetdrill_ioctl(void *userdata, int fd, unsigned long request, ...);

/* F_GETFD and F_GETFL of Linux: the commands that take no argument. */
enum { GET_FD = 1, GET_FL = 3 };

int headway_packetdrill_fcntl(void *userdata, int fd, int command, ...)
{
	int argument = 0;

	/* Reading an argument that is not there would be undefined. */
	if (command != GET_FD && command != GET_FL) {
		va_list rest;

		va_start(rest, command);
		argument = va_arg(rest, int);
		va_end(rest);
	}
	return ((const struct userdata *)userdata)->fcntl(userdata, fd, command, argument);
}

int headway_packetdrill_ioctl(void *userdata, int fd, unsigned long request, ...)
{
	int *argument;
	va_list rest;

	/* Every request that this stack answers takes one pointer. */
	va_start(rest, request);
	argument = va_arg(rest, int *);
	va_end(rest);
	return ((const struct userdata *)userdata)->ioctl(userdata, fd, request, argument);
}

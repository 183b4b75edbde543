#define _GNU_SOURCE
#include "serial.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <termios.h>
#include <unistd.h>

static int port = -1;
static int slave = -1; /* kept open, because an unopened pseudo-terminal reports errors */
static char slave_path[PATH_MAX];
static const char *link_path;

static bool make_raw(int fd)
{
    struct termios settings;
    if (tcgetattr(fd, &settings)) {
        return false;
    }
    cfmakeraw(&settings);
    return tcsetattr(fd, TCSANOW, &settings) == 0;
}

/* Replaces an old link atomically, so that a waiting reader never finds it missing. */
static bool publish(void)
{
    char temporary[PATH_MAX];
    int length = snprintf(temporary, sizeof temporary, "%s.%d", link_path, (int)getpid());
    if (length >= (int)sizeof temporary) {
        errno = ENAMETOOLONG;
        return false;
    }
    unlink(temporary);
    return symlink(slave_path, temporary) == 0 && rename(temporary, link_path) == 0;
}

bool serial_create(const char *link)
{
    int master = posix_openpt(O_RDWR | O_NOCTTY);
    return master >= 0 && grantpt(master) == 0 && unlockpt(master) == 0 &&
           serial_adopt(master, link);
}

bool serial_adopt(int fd, const char *link)
{
    port = fd;
    fcntl(port, F_SETFL, fcntl(port, F_GETFL) | O_NONBLOCK);
    link_path = link;
    if (!link) {
        return true;
    }
    if (ptsname_r(port, slave_path, sizeof slave_path)) {
        return false;
    }
    slave = open(slave_path, O_RDWR | O_NOCTTY | O_CLOEXEC);
    return slave >= 0 && make_raw(slave) && publish();
}

void serial_close(void)
{
    char target[PATH_MAX] = {0};
    if (link_path && readlink(link_path, target, sizeof target - 1) > 0 &&
        strcmp(target, slave_path) == 0) {
        unlink(link_path);
    }
}

unsigned serial_read(uint8_t *bytes, unsigned room)
{
    ssize_t got = read(port, bytes, room);
    return got > 0 ? (unsigned)got : 0;
}

unsigned serial_write(const uint8_t *bytes, unsigned length)
{
    ssize_t sent = write(port, bytes, length);
    return sent > 0 ? (unsigned)sent : 0;
}

int serial_fd(void)
{
    return port;
}

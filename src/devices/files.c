/* files.c - small readers of sysfs and procfs, which may be anybody's (see hd_devices_options.root) */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/sorted.h"
#include "devices/impl.h"

static void clean(char *text)
{
    for (; *text; text++) {
        unsigned char byte = (unsigned char)*text;
        if (byte < 0x20 || byte == 0x7f) *text = '?';
    }
}

void devices_text(char *out, size_t size, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(out, size, format, args);
    va_end(args);
    clean(out);
}

bool devices_path(char *out, size_t size, const char *root, const char *format, ...)
{
    va_list args;
    size_t used = strlen(root);
    if (used >= size) return false;
    memcpy(out, root, used);
    va_start(args, format);
    int more = vsnprintf(out + used, size - used, format, args);
    va_end(args);
    return more >= 0 && (size_t)more < size - used;
}

/* A fifo or a device in a tree that is not sysfs must not stop us. */
static int open_regular(const char *path)
{
    struct stat about;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0 || (fstat(fd, &about) == 0 && S_ISREG(about.st_mode))) return fd;
    close(fd);
    return -1;
}

FILE *devices_open(const char *path)
{
    int fd = open_regular(path);
    FILE *file = fd >= 0 ? fdopen(fd, "r") : NULL;
    if (fd >= 0 && !file) close(fd);
    return file;
}

bool devices_line(char *out, size_t size, const char *path)
{
    out[0] = '\0';
    int fd = open_regular(path);
    if (fd < 0) return false;
    ssize_t got = read(fd, out, size - 1);
    close(fd);
    out[got > 0 ? got : 0] = '\0';
    out[strcspn(out, "\n")] = '\0';
    clean(out);
    return out[0] != '\0';
}

int64_t devices_number_text(const char *text)
{
    char *end;
    if (*text < '0' || *text > '9') return -1;
    errno = 0;
    long long value = strtoll(text, &end, text[0] == '0' && text[1] == 'x' ? 16 : 10);
    while (*end == ' ' || *end == '\t') end++;
    return errno || *end ? -1 : value;
}

int64_t devices_number(const char *path)
{
    char line[DEVICES_NAME_BYTES];
    return devices_line(line, sizeof line, path) ? devices_number_text(line) : -1;
}

bool devices_link_name(char *out, size_t size, const char *path)
{
    char target[DEVICES_PATH_BYTES];
    ssize_t got = readlink(path, target, sizeof target - 1);
    if (got <= 0) return false;
    target[got] = '\0';
    const char *slash = strrchr(target, '/');
    devices_text(out, size, "%s", slash ? slash + 1 : target);
    return out[0] != '\0';
}

bool devices_exists(const char *path)
{
    return access(path, F_OK) == 0;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static bool add_name(device_names *names, size_t *capacity, const char *name)
{
    if (names->count == *capacity) {
        size_t more = *capacity ? 2 * *capacity : 32;
        char **list = realloc(names->list, more * sizeof *list);
        if (!list) return false;
        names->list = list;
        *capacity = more;
    }
    char *copy = strdup(name);
    if (!copy) return false;
    names->list[names->count++] = copy;
    return true;
}

hd_status devices_names_of(device_names *out, const char *path, hd_error *err)
{
    enum { NAME_LIMIT = 65536 };
    size_t capacity = 0;
    bool fine = true;
    *out = (device_names){0};
    DIR *folder = opendir(path);
    if (!folder) return HD_OK;
    for (const struct dirent *entry; fine && out->count < NAME_LIMIT && (entry = readdir(folder));)
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
            fine = add_name(out, &capacity, entry->d_name);
    closedir(folder);
    if (out->count) hd_sort(out->list, out->count, sizeof *out->list, by_name);
    if (fine) return HD_OK;
    devices_names_deinit(out);
    return HD_NOMEM(err);
}

void devices_names_deinit(device_names *names)
{
    for (size_t i = 0; i < names->count; i++) free(names->list[i]);
    free(names->list);
    *names = (device_names){0};
}

/* http_client.h - a client of the server under test that says exactly what it is told, byte by byte */
#ifndef HD_TESTS_VIEW_HTTP_CLIENT_H
#define HD_TESTS_VIEW_HTTP_CLIENT_H

#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/bytes.h"
#include "patience.h"

/* How long what must come may take. */
static inline int client_patience_ms(void)
{
    double ms = 1000 * hd_test_patience(300);
    return ms < 1e9 ? (int)ms : 1000000000;
}

/* status 0: the connection ended without an answer. */
typedef struct answer {
    int status;
    char *head; /* with its empty line */
    uint8_t *body;
    size_t size;
    hd_bytes all;
} answer;

static inline void answer_free(answer *a)
{
    hd_bytes_deinit(&a->all);
    free(a->head);
    *a = (answer){0};
}

static inline int64_t clock_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static inline void sleep_ms(long ms)
{
    nanosleep(&(struct timespec){ms / 1000, ms % 1000 * 1000000}, NULL);
}

/* -1: not even a connection. */
static inline int client_try(uint16_t port)
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd >= 0 && connect(fd, (const struct sockaddr *)&at, sizeof at) == 0) return fd;
    if (fd >= 0) close(fd);
    return -1;
}

static inline int client_dial(uint16_t port)
{
    int fd = client_try(port);
    assert_true(fd >= 0);
    return fd;
}

/* False: the other side has ended the connection. */
static inline bool client_send(int fd, const void *data, size_t size)
{
    while (size) {
        ssize_t done = send(fd, data, size, MSG_NOSIGNAL);
        if (done < 0 && errno == EINTR) continue;
        if (done <= 0) return false;
        data = (const char *)data + done;
        size -= (size_t)done;
    }
    return true;
}

static inline bool client_say(int fd, const char *text)
{
    return client_send(fd, text, strlen(text));
}

/* The value of a header in the answer, up to the line's end, in `out`; "" if it has none. */
static inline const char *answer_header(char out[512], const answer *a, const char *name)
{
    out[0] = '\0';
    size_t size = strlen(name);
    for (const char *line = a->head; line && *line; line = strstr(line, "\r\n") ? strstr(line, "\r\n") + 2 : NULL) {
        if (strncasecmp(line, name, size) != 0 || line[size] != ':') continue;
        const char *value = line + size + 1 + strspn(line + size + 1, " ");
        snprintf(out, 512, "%.*s", (int)strcspn(value, "\r"), value);
        break;
    }
    return out;
}

/* One piece of what comes; false: the end, or nothing comes. */
static inline bool client_more(hd_bytes *all, int fd)
{
    struct pollfd one = {.fd = fd, .events = POLLIN};
    if (poll(&one, 1, client_patience_ms()) != 1) return false;
    uint8_t *room = hd_bytes_room(all, 65536);
    ssize_t got = recv(fd, room, 65536, 0);
    if (got <= 0) return false;
    all->size += (size_t)got;
    return true;
}

/* The next answer on the connection; bytes behind it must not come (or, with `head_only`, no body). */
static inline answer client_read(int fd, bool head_only)
{
    answer a = {0};
    char text[512];
    const uint8_t *end = NULL;
    do {
        end = a.all.size ? memmem(a.all.data, a.all.size, "\r\n\r\n", 4) : NULL;
    } while (!end && client_more(&a.all, fd));
    if (!end) return a;
    size_t head = (size_t)(end - a.all.data) + 4;
    a.head = strndup((const char *)a.all.data, head);
    a.status = atoi(a.head + 9);
    bool has_length = answer_header(text, &a, "Content-Length")[0] != '\0';
    size_t length = strtoull(text, NULL, 10);
    while (!head_only && (!has_length || a.all.size - head < length) && client_more(&a.all, fd)) continue;
    a.body = a.all.data + head;
    a.size = a.all.size - head;
    if (has_length && !head_only && a.size > length) a.size = length;
    return a;
}

/* What comes to what is said on a new connection. */
static inline answer client_ask(uint16_t port, const char *text)
{
    int fd = client_dial(port);
    client_say(fd, text);
    answer a = client_read(fd, strncmp(text, "HEAD", 4) == 0);
    close(fd);
    return a;
}

/* A proper GET; `more` are further headers, each with its line's end. */
static inline answer client_get(uint16_t port, const char *path, const char *more)
{
    char *text = NULL;
    assert_true(asprintf(&text, "GET %s HTTP/1.1\r\nHost: localhost:%u\r\n%sConnection: close\r\n\r\n", path, port,
                         more ? more : "") > 0);
    answer a = client_ask(port, text);
    free(text);
    return a;
}

static inline int client_status(uint16_t port, const char *path, const char *more)
{
    answer a = client_get(port, path, more);
    int status = a.status;
    answer_free(&a);
    return status;
}

static inline bool answer_has(const answer *a, const char *text)
{
    return a->size && memmem(a->body, a->size, text, strlen(text)) != NULL;
}

static inline size_t open_files(void)
{
    size_t count = 0;
    DIR *folder = opendir("/proc/self/fd");
    if (!folder) return 0;
    while (readdir(folder)) count++;
    closedir(folder);
    return count;
}

/* Until the process has at most that many files open. */
static inline bool files_close_to(size_t count)
{
    int64_t until = clock_ms() + client_patience_ms();
    while (open_files() > count) {
        if (clock_ms() > until) return false;
        sleep_ms(20);
    }
    return true;
}

#endif

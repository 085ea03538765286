/* trigger.c - requests traced programs to open or close their capture, and reads their state */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "base/control_wire.h"
#include "base/error.h"
#include "base/options.h"
#include "heddle/capture/trigger.h"
#include "trigger/impl.h"

enum { PATIENCE_S = 10, AT_ONCE = 128 }; /* AT_ONCE: connections */

/* A socket to a target, with the request sent. -1: see `why`. */
static int send_request(const trigger_target *target, const char *request, char *why, size_t room)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    struct timeval limit = {.tv_sec = PATIENCE_S};
    struct ucred peer = {0};
    socklen_t peer_size = sizeof peer;
    int n = snprintf(address.sun_path + 1, sizeof address.sun_path - 1, CONTROL_NAME, (long)target->inner);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd >= 0) {
        setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
        setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
    }
    if (fd < 0 || connect(fd, (const struct sockaddr *)&address,
                          (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)n)) != 0) {
        snprintf(why, room, "cannot be reached: %s", strerror(errno));
    } else if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &peer_size) != 0 || peer.pid != target->pid) {
        snprintf(why, room, "its socket is process %ld's", (long)peer.pid);
    } else if (send(fd, request, strlen(request), MSG_NOSIGNAL) != (ssize_t)strlen(request) && errno != EPIPE) {
        snprintf(why, room, "cannot be reached: %s", strerror(errno));
    } else {
        return fd; /* EPIPE: it already answered that access is denied */
    }
    if (fd >= 0) close(fd);
    return -1;
}

/* Reads the whole answer as text; after an answer to an unread request ECONNRESET follows. false: no answer in time, or
 * too long. */
static bool receive(int fd, char *out, size_t room)
{
    size_t have = 0;
    while (have < room - 1) {
        ssize_t n = recv(fd, out + have, room - 1 - have, 0);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0 && (errno != ECONNRESET || !have)) return false;
        if (n <= 0) {
            out[have] = 0;
            return have > 0;
        }
        have += (size_t)n;
    }
    return false;
}

/* ---- answers ---- */

/* The text after "KEY " on a line of its own; *size without the line end. NULL: no such line. */
static const char *value_of(size_t *size, const char *answer, const char *key)
{
    size_t key_size = strlen(key);
    for (const char *line = answer; *line; line += strcspn(line, "\n"), line += *line == '\n') {
        if (strncmp(line, key, key_size) != 0 || line[key_size] != ' ') continue;
        *size = strcspn(line + key_size + 1, "\n");
        return line + key_size + 1;
    }
    return NULL;
}

static void add_text(hd_table_builder *b, const char *answer, const char *key)
{
    size_t size;
    const char *value = value_of(&size, answer, key);
    if (value)
        hd_table_add_string(b, value, size);
    else
        hd_table_add_null(b);
}

static void add_count(hd_table_builder *b, const char *answer, const char *key)
{
    size_t size;
    const char *value = value_of(&size, answer, key);
    if (value && *value >= '0' && *value <= '9')
        hd_table_add_count(b, strtoull(value, NULL, 10));
    else
        hd_table_add_null(b);
}

/* Below 0: there is none. */
static void add_time(hd_table_builder *b, const char *answer, const char *key)
{
    size_t size;
    const char *value = value_of(&size, answer, key);
    if (value && *value >= '0' && *value <= '9')
        hd_table_add_int(b, strtoll(value, NULL, 10));
    else
        hd_table_add_null(b);
}

static void add_columns(hd_table_builder *b)
{
    hd_table_add_column(b, "pid", HD_VALUE_INT);
    hd_table_add_column(b, "name", HD_VALUE_STRING);
    hd_table_add_column(b, "state", HD_VALUE_STRING);
    hd_table_add_column(b, "by", HD_VALUE_STRING);
    hd_table_add_column(b, "since", HD_VALUE_DURATION);
    hd_table_add_column(b, "left", HD_VALUE_DURATION);
    hd_table_add_column(b, "windows", HD_VALUE_COUNT);
    hd_table_add_column(b, "events", HD_VALUE_COUNT);
    hd_table_add_column(b, "dropped", HD_VALUE_COUNT);
    hd_table_add_column(b, "bytes", HD_VALUE_BYTES);
    hd_table_add_column(b, "signal", HD_VALUE_STRING);
    hd_table_add_column(b, "file", HD_VALUE_STRING);
    hd_table_add_column(b, "error", HD_VALUE_STRING);
}

/* `answer` "" and an error: it did not answer. */
static void add_row(hd_table_builder *b, const trigger_target *target, const char *answer, const char *error)
{
    size_t hello = strlen(CONTROL_HELLO);
    if (!error && (strncmp(answer, CONTROL_HELLO, hello) != 0 || answer[hello] != '\n')) {
        answer = "";
        error = "answers in a way that this version does not know";
    }
    hd_table_add_int(b, target->pid);
    hd_table_add_text(b, target->name);
    add_text(b, answer, "state");
    add_text(b, answer, "by");
    add_time(b, answer, "since_ns");
    add_time(b, answer, "left_ns");
    add_count(b, answer, "windows");
    add_count(b, answer, "events");
    add_count(b, answer, "dropped");
    add_count(b, answer, "bytes");
    add_text(b, answer, "signal");
    add_text(b, answer, "file");
    if (error)
        hd_table_add_text(b, error);
    else
        add_text(b, answer, "error");
}

/* All requests are sent before the first answer is awaited. */
static void tell_some(hd_table_builder *b, const trigger_target *targets, size_t count, const char *request)
{
    int fds[AT_ONCE];
    char why[AT_ONCE][96], answer[CONTROL_ANSWER_BYTES];
    for (size_t i = 0; i < count; i++) fds[i] = send_request(&targets[i], request, why[i], sizeof why[i]);
    for (size_t i = 0; i < count; i++) {
        bool has_answer = fds[i] >= 0 && receive(fds[i], answer, sizeof answer);
        if (fds[i] >= 0 && !has_answer) snprintf(why[i], sizeof why[i], "did not answer");
        add_row(b, &targets[i], has_answer ? answer : "", has_answer ? NULL : why[i]);
        if (fds[i] >= 0) close(fds[i]);
    }
}

static hd_status make_request(char *out, size_t room, const hd_trigger_options *options, hd_error *err)
{
    static const char *const words[] = {"status", "start", "stop", "toggle"};
    bool opens = options->action == HD_TRIGGER_START || options->action == HD_TRIGGER_TOGGLE;
    if ((unsigned)options->action > HD_TRIGGER_TOGGLE)
        return hd_error_set(err, HD_ERR_ARGUMENT, NULL, HD_OFFSET_NONE, "there is no such action");
    if (options->duration_ns < 0 || options->duration_ns > INT64_C(1000000000000000000))
        return hd_error_set(err, HD_ERR_ARGUMENT, NULL, HD_OFFSET_NONE, "a duration is at most 30 years");
    if (options->duration_ns && !opens)
        return hd_error_set(err, HD_ERR_ARGUMENT, NULL, HD_OFFSET_NONE,
                            "a duration is of a capture that starts: it makes no sense with %s",
                            words[options->action]);
    if (options->duration_ns)
        snprintf(out, room, "%s %lld\n", words[options->action],
                 (long long)((options->duration_ns + 999999) / 1000000));
    else
        snprintf(out, room, "%s\n", words[options->action]);
    return HD_OK;
}

hd_status hd_trigger(hd_table **out, int64_t pid, const hd_trigger_options *options, hd_error *err)
{
    trigger_targets targets = {0};
    hd_table_builder *b;
    char request[CONTROL_REQUEST_BYTES];
    *out = NULL;
    HD_OWN_OPTIONS(hd_trigger_options, options, err);
    HD_TRY(make_request(request, sizeof request, options, err));
    if (pid <= 0 || pid > INT_MAX)
        return hd_error_set(err, HD_ERR_ARGUMENT, NULL, HD_OFFSET_NONE, "%lld is not an id of a process",
                            (long long)pid);
    hd_status status = trigger_find(&targets, (pid_t)pid, options->children, err);
    if (status == HD_OK && !targets.count) status = trigger_explain((pid_t)pid, err);
    if (status == HD_OK) status = hd_table_builder_new(&b, "captures", err);
    if (status == HD_OK) {
        add_columns(b);
        for (size_t i = 0; i < targets.count; i += AT_ONCE)
            tell_some(b, targets.items + i, targets.count - i < AT_ONCE ? targets.count - i : AT_ONCE, request);
        status = hd_table_finish(out, b, err);
    }
    free(targets.items);
    return status;
}

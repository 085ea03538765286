/* python.c - whether stacks can name Python functions: runs the python3 on PATH for its version
 *
 * Stacks taken inside the program read the interpreter's own frames (src/capture/stack/python.c knows those of 3.11 to
 * 3.15 with the GIL). The kernel's stacks have addresses, which a perf map names: CPython from 3.12 on writes one with
 * PYTHONPERFSUPPORT=1, if it was built for that.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "devices/impl.h"

extern char **environ;

enum { WAIT_MS = 5000 };

/* All that comes through a pipe until its end; false: it is more than fits, or takes longer than our patience. */
static bool read_answer(int fd, char *out, size_t size)
{
    size_t used = 0;
    int64_t end = hd_now_ms() + WAIT_MS;
    while (used < size - 1) {
        struct pollfd wait = {.fd = fd, .events = POLLIN};
        int64_t left = end - hd_now_ms();
        out[used] = '\0';
        if (left <= 0) return false;
        int ready = poll(&wait, 1, (int)left);
        if (ready < 0 && errno != EINTR) return false;
        if (ready <= 0) continue;
        ssize_t got = read(fd, out + used, size - 1 - used);
        if (got == 0) return true;
        if (got < 0 && errno != EINTR) return false;
        if (got > 0) used += (size_t)got;
    }
    return false;
}

static bool start(pid_t *child, const char *program, int write_end)
{
    static char flags[] = "-IS", command[] = "-c",
                code[] = "import sys, sysconfig\n"
                         "print(*sys.version_info[:2], *(int(bool(sysconfig.get_config_var(name))) for name in "
                         "('PY_HAVE_PERF_TRAMPOLINE', 'Py_GIL_DISABLED')))";
    char *argv[] = {(char *)(uintptr_t)program, flags, command, code, NULL};
    posix_spawn_file_actions_t actions;
    if (posix_spawn_file_actions_init(&actions) != 0) return false;
    bool fine = posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0) == 0 &&
                posix_spawn_file_actions_adddup2(&actions, write_end, 1) == 0 &&
                posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0) == 0 &&
                posix_spawn(child, program, &actions, NULL, argv, environ) == 0;
    posix_spawn_file_actions_destroy(&actions);
    return fine;
}

static bool ask(char *out, size_t size, const char *program)
{
    int ends[2];
    pid_t child;
    out[0] = '\0';
    if (pipe2(ends, O_CLOEXEC) != 0) return false;
    bool fine = start(&child, program, ends[1]);
    close(ends[1]);
    if (fine) {
        int status = 0;
        if (!read_answer(ends[0], out, size)) kill(child, SIGKILL);
        while (waitpid(child, &status, 0) < 0 && errno == EINTR) continue;
        fine = WIFEXITED(status) && WEXITSTATUS(status) == 0;
    }
    close(ends[0]);
    return fine;
}

static void judge(hd_way *way, const char *path, int minor, bool has_map, bool no_gil)
{
    static const char inside[] = "stacks taken inside of the program name its functions";
    static const char kernel[] = "stacks taken by the kernel name them with PYTHONPERFSUPPORT=1";
    static const char advice[] = "Use CPython 3.12 to 3.15 with the GIL, built with the perf trampoline.";
    bool has_frames = minor >= 11 && minor <= 15 && !no_gil;
    if (has_frames && has_map)
        devices_say(way, HD_WAY_WORKS, "", "%s is Python 3.%d: %s, %s", path, minor, inside, kernel);
    else if (has_frames)
        devices_say(way, HD_WAY_PARTLY, advice,
                    "%s is Python 3.%d: %s, those by the kernel do not (no perf trampoline)", path, minor, inside);
    else if (has_map)
        devices_say(way, HD_WAY_PARTLY, advice, "%s is Python 3.%d%s: only %s", path, minor,
                    no_gil ? " without GIL" : "", kernel);
    else
        devices_say(way, HD_WAY_MISSING, advice, "%s is Python 3.%d%s, of which no stacks name functions", path, minor,
                    no_gil ? " without GIL" : "");
}

void devices_way_python(hd_way *way)
{
    char path[HD_WAY_TEXT_BYTES - 256], answer[64];
    int major, minor, map, no_gil;
    if (!hd_devices_program(path, sizeof path, "python3"))
        devices_say(way, HD_WAY_MISSING, "Only Python programs need it.", "python3 is not on PATH");
    else if (!ask(answer, sizeof answer, path) || sscanf(answer, "%d %d %d %d", &major, &minor, &map, &no_gil) != 4 ||
             major != 3)
        devices_say(way, HD_WAY_MISSING, "Put a CPython on PATH that starts.", "the version of %s is unknown", path);
    else
        judge(way, path, minor, map, no_gil);
}

/* tracefs.c - events made of lines of text */
#include "capture/uprobe/tracefs.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/mount.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define EVENTS "uprobe_events"
enum { LINE_BYTES = 4400 };

static int own_mount(void)
{
    int mounted = -1, fs = (int)syscall(SYS_fsopen, "tracefs", FSOPEN_CLOEXEC);
    if (fs < 0) return -1;
    if (syscall(SYS_fsconfig, fs, FSCONFIG_CMD_CREATE, NULL, NULL, 0) == 0)
        mounted = (int)syscall(SYS_fsmount, fs, FSMOUNT_CLOEXEC, 0);
    close(fs);
    return mounted;
}

static bool write_line(const uprobe_tracefs *tracefs, const char *line)
{
    int fd = openat(tracefs->folder, EVENTS, O_WRONLY | O_APPEND | O_CLOEXEC);
    if (fd < 0) return false;
    ssize_t size = (ssize_t)strlen(line);
    bool is_written = write(fd, line, (size_t)size) == size;
    close(fd);
    return is_written;
}

static void remove_event(const uprobe_tracefs *tracefs, long pid, uint32_t group)
{
    char line[96];
    snprintf(line, sizeof line, "-:heddle_%ld/g%u\n", pid, group);
    write_line(tracefs, line);
}

/* Of tracers that were killed: "p:heddle_PID/gN …". One that is in use is busy, and stays. */
static void remove_stale(const uprobe_tracefs *tracefs)
{
    char line[LINE_BYTES];
    int fd = openat(tracefs->folder, EVENTS, O_RDONLY | O_CLOEXEC);
    FILE *file = fd >= 0 ? fdopen(fd, "r") : NULL;
    if (!file && fd >= 0) close(fd);
    while (file && fgets(line, sizeof line, file)) {
        long pid;
        unsigned group;
        if (sscanf(line, "%*[pr]:heddle_%ld/g%u", &pid, &group) != 2 || pid <= 0) continue;
        if (kill((pid_t)pid, 0) && errno == ESRCH) remove_event(tracefs, pid, group);
    }
    if (file) fclose(file);
}

void uprobe_tracefs_open(uprobe_tracefs *out)
{
    static const char *const places[] = {"/sys/kernel/tracing", "/sys/kernel/debug/tracing"};
    out->groups = 0;
    out->folder = -1;
    for (int i = 0; i < 2 && out->folder < 0; i++) {
        int folder = open(places[i], O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (folder >= 0 && faccessat(folder, EVENTS, W_OK, 0) == 0)
            out->folder = folder;
        else if (folder >= 0)
            close(folder);
    }
    if (out->folder < 0) out->folder = own_mount();
    if (out->folder >= 0) remove_stale(out);
}

/* Blanks would part words, and a '#' begins a comment. */
static bool is_writable(const uprobe_target *target)
{
    return strlen(target->path) < LINE_BYTES - 128 && !strpbrk(target->path, " \t\n\r#");
}

static bool read_id(const uprobe_tracefs *tracefs, uint32_t group, uint64_t *out)
{
    char path[128], text[32] = "";
    snprintf(path, sizeof path, "events/heddle_%ld/g%u/id", (long)getpid(), group);
    int fd = openat(tracefs->folder, path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return false;
    ssize_t size = read(fd, text, sizeof text - 1);
    close(fd);
    *out = size > 0 ? strtoull(text, NULL, 10) : 0;
    return *out > 0;
}

bool uprobe_tracefs_add(uprobe_tracefs *tracefs, const uprobe_target *targets, uint32_t count, bool is_return,
                        uint64_t *out_id)
{
    char line[LINE_BYTES];
    uint32_t group = tracefs->groups;
    bool is_whole = tracefs->folder >= 0 && count > 0;
    if (!is_whole) return false;
    tracefs->groups++;
    for (uint32_t i = 0; i < count && is_whole; i++) {
        snprintf(line, sizeof line, "%c:heddle_%ld/g%u %s:0x%llx\n", is_return ? 'r' : 'p', (long)getpid(), group,
                 targets[i].path, (unsigned long long)targets[i].offset);
        is_whole = is_writable(&targets[i]) && write_line(tracefs, line);
    }
    if (is_whole && read_id(tracefs, group, out_id)) return true;
    remove_event(tracefs, (long)getpid(), group);
    return false;
}

void uprobe_tracefs_close(uprobe_tracefs *tracefs)
{
    if (tracefs->folder < 0) return;
    for (uint32_t i = 0; i < tracefs->groups; i++) remove_event(tracefs, (long)getpid(), i);
    close(tracefs->folder);
    tracefs->folder = -1;
}

/* find.c - finds the traced processes among a process and its descendants
 *
 * /proc/net/unix lists the sockets of our network namespace, /proc/PID/stat the parents. A process of another pid
 * namespace names its socket by its own id, which is in NSpid of /proc/PID/status.
 */
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/control_wire.h"
#include "base/error.h"
#include "base/memory/vector.h"
#include "base/sorted.h"
#include "trigger/impl.h"

typedef struct process {
    pid_t pid, parent;
    bool is_below; /* it is the process, or a descendant */
    char name[TRIGGER_NAME_BYTES];
} process;

typedef struct processes {
    process *items;
    size_t count, capacity;
} processes;

static int by_pid(const void *a, const void *b)
{
    const process *x = a, *y = b;
    return (x->pid > y->pid) - (x->pid < y->pid);
}

static int by_value(const void *a, const void *b)
{
    const pid_t *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

/* A small file of /proc as text. false: it is not there (any more), or not for us. */
static bool read_small(char *out, size_t room, const char *path)
{
    FILE *file = fopen(path, "re");
    if (!file) return false;
    size_t size = fread(out, 1, room - 1, file);
    fclose(file);
    out[size] = 0;
    return size > 0;
}

/* "PID (NAME) STATE PARENT …": the name may be any text, also with brackets. */
static bool read_process(process *out, pid_t pid)
{
    char path[64], text[512];
    snprintf(path, sizeof path, "/proc/%ld/stat", (long)pid);
    if (!read_small(text, sizeof text, path)) return false;
    char *open = strchr(text, '('), *close = strrchr(text, ')'), *end;
    if (!open || !close || close < open || close[1] != ' ' || !close[2]) return false;
    long parent = strtol(close + 3, &end, 10);
    if (end == close + 3) return false;
    *out = (process){.pid = pid, .parent = (pid_t)parent};
    *close = 0;
    snprintf(out->name, sizeof out->name, "%s", open + 1);
    return true;
}

static hd_status list_processes(processes *out, hd_error *err)
{
    DIR *folder = opendir("/proc");
    if (!folder) return hd_error_set(err, HD_ERR_IO, "/proc", HD_OFFSET_NONE, "cannot be read: %s", strerror(errno));
    hd_status status = HD_OK;
    for (const struct dirent *entry; status == HD_OK && (entry = readdir(folder));) {
        char *end;
        long pid = strtol(entry->d_name, &end, 10);
        if (pid <= 0 || *end || out->count == TRIGGER_PROCESSES_MAX) continue;
        if (hd_grow((void **)&out->items, &out->capacity, out->count, sizeof *out->items))
            out->count += read_process(&out->items[out->count], (pid_t)pid);
        else
            status = HD_NOMEM(err);
    }
    closedir(folder);
    if (status == HD_OK && out->count) hd_sort(out->items, out->count, sizeof *out->items, by_pid);
    return status;
}

static process *find_process(const processes *all, pid_t pid)
{
    const process key = {.pid = pid};
    return all->count ? bsearch(&key, all->items, all->count, sizeof key, by_pid) : NULL;
}

/* Walks up from each to one that is known to be below or not; each chain is walked once. */
static void mark_below(processes *all, pid_t root)
{
    enum { DEPTH = 1024 }; /* ids may have been reused while reading: the length of chains is bounded */
    for (size_t i = 0; i < all->count; i++) {
        process *p = &all->items[i];
        for (int depth = 0; p && p->pid != root && !p->is_below && depth < DEPTH; depth++)
            p = p->parent > 0 ? find_process(all, p->parent) : NULL;
        all->items[i].is_below = p && (p->pid == root || p->is_below);
    }
}

/* ---- sockets ---- */

typedef struct ids {
    pid_t *items;
    size_t count, capacity;
} ids;

/* The ids in the names of sockets "@heddle-capture-PID", ascending. */
static hd_status list_sockets(ids *out, hd_error *err)
{
    char line[512];
    FILE *file = fopen("/proc/net/unix", "re");
    if (!file)
        return hd_error_set(err, HD_ERR_IO, "/proc/net/unix", HD_OFFSET_NONE, "cannot be read: %s", strerror(errno));
    hd_status status = HD_OK;
    while (status == HD_OK && fgets(line, sizeof line, file)) {
        const char *name = strstr(line, " @" CONTROL_PREFIX);
        char *end;
        if (!name) continue;
        long pid = strtol(name + strlen(" @" CONTROL_PREFIX), &end, 10);
        if (pid <= 0 || pid > INT_MAX || (*end && *end != '\n')) continue;
        if (hd_grow((void **)&out->items, &out->capacity, out->count, sizeof *out->items))
            out->items[out->count++] = (pid_t)pid;
        else
            status = HD_NOMEM(err);
    }
    fclose(file);
    if (status == HD_OK && out->count) hd_sort(out->items, out->count, sizeof *out->items, by_value);
    return status;
}

/* The id of a process in the innermost namespace it is in. */
static pid_t inner_id(pid_t pid)
{
    char path[64], text[4096];
    snprintf(path, sizeof path, "/proc/%ld/status", (long)pid);
    if (!read_small(text, sizeof text, path)) return pid;
    const char *at = strstr(text, "\nNSpid:");
    if (!at) return pid;
    long id = pid;
    char *end;
    for (at += strlen("\nNSpid:"); *at == '\t' || *at == ' '; at = end) {
        long next = strtol(at, &end, 10);
        if (end == at) break;
        id = next;
    }
    return id > 0 && id <= INT_MAX ? (pid_t)id : pid;
}

static hd_status add_if_traced(trigger_targets *out, const process *p, const ids *sockets, hd_error *err)
{
    pid_t inner = inner_id(p->pid);
    if (!sockets->count || !bsearch(&inner, sockets->items, sockets->count, sizeof inner, by_value)) return HD_OK;
    if (!hd_grow((void **)&out->items, &out->capacity, out->count, sizeof *out->items)) return HD_NOMEM(err);
    trigger_target *target = &out->items[out->count++];
    *target = (trigger_target){.pid = p->pid, .inner = inner};
    memcpy(target->name, p->name, sizeof target->name);
    return HD_OK;
}

static hd_status choose(trigger_targets *out, processes *all, const ids *sockets, pid_t pid, bool children,
                        hd_error *err)
{
    const process *root = find_process(all, pid);
    if (!root) return hd_error_set(err, HD_ERR_ARGUMENT, NULL, HD_OFFSET_NONE, "there is no process %ld", (long)pid);
    HD_TRY(add_if_traced(out, root, sockets, err));
    if (out->count && !children) return HD_OK;
    mark_below(all, pid);
    for (size_t i = 0; i < all->count; i++) {
        if (all->items[i].is_below && all->items[i].pid != pid)
            HD_TRY(add_if_traced(out, &all->items[i], sockets, err));
    }
    return HD_OK;
}

hd_status trigger_find(trigger_targets *out, pid_t pid, bool children, hd_error *err)
{
    processes all = {0};
    ids sockets = {0};
    hd_status status = list_processes(&all, err);
    if (status == HD_OK) status = list_sockets(&sockets, err);
    if (status == HD_OK) status = choose(out, &all, &sockets, pid, children, err);
    free(all.items);
    free(sockets.items);
    return status;
}

/* ---- why there is none ---- */

static bool is_elsewhere(pid_t pid)
{
    char path[64];
    struct stat here, there;
    snprintf(path, sizeof path, "/proc/%ld/ns/net", (long)pid);
    return stat("/proc/self/ns/net", &here) == 0 && stat(path, &there) == 0 && here.st_ino != there.st_ino;
}

static bool is_of_another(pid_t pid)
{
    char path[64];
    struct stat info;
    snprintf(path, sizeof path, "/proc/%ld", (long)pid);
    return stat(path, &info) == 0 && geteuid() != 0 && info.st_uid != geteuid();
}

hd_status trigger_explain(pid_t pid, hd_error *err)
{
    process root;
    const char *name = read_process(&root, pid) ? root.name : "?";
    if (is_elsewhere(pid))
        return hd_error_set(err, HD_ERR_UNSUPPORTED, NULL, HD_OFFSET_NONE,
                            "process %ld (%s) has a network of its own, as containers do, and its socket is not seen "
                            "from here: call heddle trigger in there (nsenter -t %ld -n heddle trigger %ld)",
                            (long)pid, name, (long)pid, (long)pid);
    if (is_of_another(pid))
        return hd_error_set(err, HD_ERR_UNSUPPORTED, NULL, HD_OFFSET_NONE,
                            "process %ld (%s) is of another user, and neither it nor what it started is traced as far "
                            "as can be seen: call heddle trigger as that user, or as root",
                            (long)pid, name);
    return hd_error_set(err, HD_ERR_UNSUPPORTED, NULL, HD_OFFSET_NONE,
                        "process %ld (%s) is not traced, nor is any that it started: start it with heddle record; a "
                        "program can be controlled after its first call of CUDA or NVTX",
                        (long)pid, name);
}

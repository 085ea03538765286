/* running.c - a process that runs already: what the kernel's records said before there was a tracer, from /proc */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "capture/uprobe/impl.h"

enum { LINE_BYTES = 4300 };

static hd_status unreadable(uint32_t pid, hd_error *err)
{
    if (errno == ENOENT || errno == ESRCH)
        return hd_error_set(err, HD_ERR_ARGUMENT, NULL, HD_OFFSET_NONE, "there is no process %u", pid);
    return hd_error_set(
        err, HD_ERR_IO, NULL, HD_OFFSET_NONE,
        "the mappings of process %u cannot be read: %s. It is of another user, or protected: run heddle "
        "as root",
        pid, strerror(errno));
}

static FILE *open_maps(uint32_t pid)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%u/maps", pid);
    return fopen(path, "re");
}

/* The next mapping with code. `line`: of LINE_BYTES, where its path is. */
static bool next_mapping(uprobe_mapped *out, FILE *maps, char *line)
{
    unsigned long long start, end, offset, inode;
    unsigned major, minor;
    char rights[5];
    while (fgets(line, LINE_BYTES, maps)) {
        int at = 0;
        line[strcspn(line, "\n")] = 0;
        if (sscanf(line, "%llx-%llx %4s %llx %x:%x %llu %n", &start, &end, rights, &offset, &major, &minor, &inode,
                   &at) != 7 ||
            rights[2] != 'x' || end < start)
            continue;
        *out = (uprobe_mapped){.start = start,
                               .bytes = end - start,
                               .offset = offset,
                               .device = (uint64_t)minor << 32 | major, /* as in the kernel's records */
                               .inode = inode,
                               .path = line + at};
        return true;
    }
    return false;
}

hd_status uprobe_search_process(uprobe_search *search, uint32_t pid, hd_error *err)
{
    char line[LINE_BYTES], link[64];
    uprobe_mapped mapped;
    FILE *maps = open_maps(pid);
    if (!maps) return unreadable(pid, err);
    snprintf(link, sizeof link, "/proc/%u/exe", pid);
    search->executable = realpath(link, NULL);
    hd_status status = HD_OK;
    while (status == HD_OK && next_mapping(&mapped, maps, line)) {
        if (mapped.path[0] == '/') status = uprobe_search_add(search, mapped.path, err);
    }
    fclose(maps);
    return status;
}

static void name_threads(uprobe_spaces *spaces, uprobe_process *process)
{
    char path[96], name[UPROBE_COMM_BYTES + 1];
    struct dirent *entry;
    uint32_t count = 0;
    snprintf(path, sizeof path, "/proc/%u/task", process->pid);
    DIR *folder = opendir(path);
    while (folder && (entry = readdir(folder))) {
        uint32_t tid = (uint32_t)strtoul(entry->d_name, NULL, 10);
        snprintf(path, sizeof path, "/proc/%u/task/%u/comm", process->pid, tid);
        FILE *file = tid ? fopen(path, "re") : NULL;
        if (!file) continue;
        if (fgets(name, sizeof name, file)) {
            name[strcspn(name, "\n")] = 0;
            uprobe_spaces_name(spaces, process->pid, tid, name, false);
            count++;
        }
        fclose(file);
    }
    if (folder) closedir(folder);
    if (count) process->threads = count;
}

hd_status uprobe_running_read(hd_uprobe *t, uint32_t pid, void (*found)(hd_uprobe *, const uprobe_module *),
                              hd_error *err)
{
    char line[LINE_BYTES];
    uprobe_mapped mapped;
    uprobe_process *process = uprobe_spaces_process(&t->spaces, pid);
    FILE *maps = open_maps(pid);
    if (!maps) return unreadable(pid, err);
    name_threads(&t->spaces, process);
    while (next_mapping(&mapped, maps, line)) {
        mapped.pid = pid;
        const uprobe_module *fresh = uprobe_spaces_map(&t->spaces, &mapped);
        if (fresh) found(t, fresh);
    }
    fclose(maps);
    return HD_OK;
}

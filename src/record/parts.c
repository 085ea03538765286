/* parts.c - the folder that captures are written to */
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/capture_wire.h"
#include "base/checksum.h"
#include "base/error.h"
#include "base/memory/vector.h"
#include "base/sorted.h"
#include "heddle/session.h"
#include "record/impl.h"
#include "record/kernel.h"

#define EXTENSION ".hdcap"

/* ---- names ---- */

char *record_output_name(const char *command)
{
    const char *slash = strrchr(command, '/');
    char base[64], date[32], own[32] = "", *name = NULL;
    uint64_t rank, ranks;
    size_t size = 0;
    struct tm parts;
    time_t now = time(NULL);
    for (const char *p = slash ? slash + 1 : command; *p && size + 1 < sizeof base; p++)
        base[size++] = isalnum((unsigned char)*p) || strchr("._+-", *p) ? *p : '_';
    base[size] = '\0';
    localtime_r(&now, &parts);
    strftime(date, sizeof date, "%Y%m%d-%H%M%S", &parts);
    if (hd_record_rank(&rank, &ranks) && ranks > 1) snprintf(own, sizeof own, "-rank%" PRIu64, rank);
    for (unsigned n = 1; n < 1000; n++) {
        struct stat info;
        char again[16] = "";
        if (n > 1) snprintf(again, sizeof again, "-%u", n);
        free(name);
        if (asprintf(&name, "%s%s-%s%s%s.heddle", base[0] == '-' || base[0] == '.' ? "_" : "", base, date, own, again) <
            0)
            return NULL;
        if (lstat(name, &info) != 0) break;
    }
    return name;
}

/* ---- the folder ---- */

static hd_status write_readme(const recording *r, hd_error *err)
{
    char *path;
    if (asprintf(&path, "%s/%s", r->result->parts, RECORD_README) < 0) return HD_NOMEM(err);
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    FILE *file = fd < 0 ? NULL : fdopen(fd, "w");
    int problem = file ? 0 : errno;
    if (!file && fd >= 0) close(fd);
    if (file) {
        errno = 0;
        fprintf(
            file,
            "Captures of a command that heddle recorded: one file for each process. This folder is removed when\n"
            "the recording ends. If it is here and nothing is recorded any more, heddle or the machine was stopped\n"
            "before that; what the processes did until then is in the files:\n\n"
            "    heddle record --recover FOLDER -o OUT.heddle\n\ncommand:");
        for (size_t i = 0; r->command && r->command[i]; i++) fprintf(file, " %s", r->command[i]);
        fputc('\n', file);
        if (fflush(file) != 0 || ferror(file)) problem = errno ? errno : EIO;
        if (fclose(file) != 0 && !problem) problem = errno;
    }
    hd_status status =
        problem ? hd_error_set(err, HD_ERR_IO, path, HD_OFFSET_NONE, "cannot be written: %s", strerror(problem))
                : HD_OK;
    free(path);
    return status;
}

hd_status record_parts_make(const recording *r, hd_error *err)
{
    char *parts = r->result->parts;
    struct stat info;
    bool is_new = mkdir(parts, 0700) == 0;
    int problem = errno;
    if (!is_new && problem == EEXIST && stat(parts, &info) == 0 && !S_ISDIR(info.st_mode))
        return hd_error_set(err, HD_ERR_IO, parts, HD_OFFSET_NONE,
                            "is a file, and the captures need a folder of this name: remove it, or use another -o");
    uint64_t rank, ranks;
    if (!is_new && problem == EEXIST)
        return hd_error_set(err, HD_ERR_IO, parts, HD_OFFSET_NONE,
                            "is there already, from a recording that runs or was killed: "
                            "heddle record --recover %.80s, or remove it%s",
                            parts,
                            hd_record_rank(&rank, &ranks) && ranks > 1
                                ? "; each rank of a job needs a file of its own: -o 'NAME-rank{rank}.heddle'"
                                : "");
    char *absolute = realpath(parts, NULL);
    if (!absolute)
        return hd_error_set(err, HD_ERR_IO, parts, HD_OFFSET_NONE, "cannot make this folder for the captures: %s",
                            strerror(is_new ? errno : problem));
    free(r->result->parts);
    r->result->parts = absolute;
    hd_status status = write_readme(r, err);
    if (status != HD_OK) record_parts_remove(absolute);
    return status;
}

static bool is_capture_name(const char *name)
{
    if (strcmp(name, KERNEL_FILE) == 0) return true;
    size_t size = strlen(name), extension = strlen(EXTENSION);
    return size > extension && strcmp(name + size - extension, EXTENSION) == 0;
}

bool record_parts_remove(const char *parts)
{
    DIR *folder = opendir(parts);
    struct dirent *entry;
    struct stat info;
    if (!folder) return false;
    while ((entry = readdir(folder))) {
        bool is_socket = strcmp(entry->d_name, HD_SESSION_RECORDER) == 0;
        if (!is_capture_name(entry->d_name) && !is_socket && strcmp(entry->d_name, RECORD_README) != 0) continue;
        if (fstatat(dirfd(folder), entry->d_name, &info, AT_SYMLINK_NOFOLLOW) == 0 &&
            (is_socket ? S_ISSOCK(info.st_mode) : S_ISREG(info.st_mode)))
            unlinkat(dirfd(folder), entry->d_name, 0);
    }
    closedir(folder);
    return rmdir(parts) == 0;
}

/* ---- what is in it ---- */

/* Damaged files are read anyway, later, and the reader reports the reason. */
static void read_head(record_part *part, int folder, const char *name)
{
    unsigned char head[CAPTURE_HEADER_BYTES];
    int fd = openat(folder, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (fd < 0) return;
    if (pread(fd, head, sizeof head, 0) == (ssize_t)sizeof head &&
        memcmp(head, CAPTURE_MAGIC, CAPTURE_MAGIC_BYTES) == 0 &&
        hd_le_get(head + CAPTURE_AT_CHECKSUM, 8) == hd_checksum(head, CAPTURE_AT_CHECKSUM)) {
        uint64_t start = hd_le_get(head + CAPTURE_AT_START, 8);
        part->pid = (uint32_t)hd_le_get(head + CAPTURE_AT_PID, 4);
        part->start_ns = (int64_t)start;
        part->began_s = (int64_t)(start + hd_le_get(head + CAPTURE_AT_UNIX, 8)) / 1000000000;
    }
    close(fd);
}

static int by_start(const void *a, const void *b)
{
    const record_part *x = a, *y = b;
    if (x->full != y->full) return x->full ? -1 : 1;
    if (x->start_ns != y->start_ns) return x->start_ns < y->start_ns ? -1 : 1;
    return strcmp(x->path, y->path);
}

static bool add_part(record_list *list, int folder, const char *parent, const char *name, const struct stat *info)
{
    if (!hd_grow((void **)&list->parts, &list->capacity, list->count, sizeof *list->parts)) return false;
    record_part *part = &list->parts[list->count];
    *part = (record_part){.bytes = (uint64_t)info->st_size, .full = info->st_size >= CAPTURE_HEADER_BYTES};
    if (asprintf(&part->path, "%s/%s", parent, name) < 0) return false;
    list->count++;
    read_head(part, folder, name);
    part->is_kernel = strcmp(name, KERNEL_FILE) == 0;
    if (part->is_kernel) part->start_ns = INT64_MAX; /* behind the processes */
    list->full += part->full;
    return true;
}

hd_status record_list_read(record_list *list, const char *path, hd_error *err)
{
    DIR *folder = opendir(path);
    struct dirent *entry;
    struct stat info;
    bool fine = true;
    if (!folder)
        return hd_error_set(err, HD_ERR_IO, path, HD_OFFSET_NONE,
                            "cannot be read as a folder: %s; a recording that was killed leaves FILE.parts",
                            strerror(errno));
    while (fine && (entry = readdir(folder))) {
        if (!is_capture_name(entry->d_name)) continue;
        if (fstatat(dirfd(folder), entry->d_name, &info, AT_SYMLINK_NOFOLLOW) != 0 || !S_ISREG(info.st_mode)) continue;
        fine = add_part(list, dirfd(folder), path, entry->d_name, &info);
    }
    closedir(folder);
    if (!fine) return HD_NOMEM(err);
    if (list->count) hd_sort(list->parts, list->count, sizeof *list->parts, by_start);
    return HD_OK;
}

void record_list_deinit(record_list *list)
{
    for (size_t i = 0; i < list->count; i++) free(list->parts[i].path);
    free(list->parts);
    *list = (record_list){0};
}

/* ---- who wrote it ---- */

static int by_number(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

hd_status record_list_number(record_list *list, hd_error *err)
{
    uint32_t *pids = malloc((list->full + 1) * sizeof *pids);
    if (!pids) return HD_NOMEM(err);
    for (size_t i = 0; i < list->full; i++) pids[i] = list->parts[i].pid;
    hd_sort(pids, list->full, sizeof *pids, by_number);
    list->processes = 0;
    for (size_t i = 0; i < list->full; i++) {
        if (i == 0 || pids[i] != pids[list->processes - 1]) pids[list->processes++] = pids[i];
    }
    for (size_t i = 0; i < list->full; i++) {
        const uint32_t *found = bsearch(&list->parts[i].pid, pids, list->processes, sizeof *pids, by_number);
        list->parts[i].process = (size_t)(found - pids);
    }
    free(pids);
    return HD_OK;
}

/* ---- who still writes ---- */

static bool is_open_in(const record_part *part)
{
    char fds[64];
    struct stat file, info;
    struct dirent *entry;
    bool found = false;
    snprintf(fds, sizeof fds, "/proc/%u/fd", part->pid);
    DIR *folder = part->pid && stat(part->path, &file) == 0 ? opendir(fds) : NULL;
    if (!folder) return false; /* ended, or of another user or pid namespace */
    while (!found && (entry = readdir(folder))) {
        if (!isdigit((unsigned char)entry->d_name[0])) continue;
        found = fstatat(dirfd(folder), entry->d_name, &info, 0) == 0 && info.st_ino == file.st_ino &&
                info.st_dev == file.st_dev;
    }
    closedir(folder);
    return found;
}

size_t record_list_running(const record_list *list)
{
    size_t running = 0;
    for (size_t i = 0; i < list->full; i++) running += is_open_in(&list->parts[i]);
    return running;
}

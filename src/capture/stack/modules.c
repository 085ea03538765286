/* modules.c - reports mapped code of this process to the session
 *
 * Objects of the loader: dl_iterate_phdr counts additions and removals, so that checking again is cheap. Their
 * executable segments become modules, with the build-id of their notes. Code unknown to the loader, which was made at
 * run time, is in /proc/self/maps.
 */
#include <elf.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <link.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/unwind/perf_map.h"
#include "capture/session/impl.h"
#include "capture/stack/impl.h"

enum { BUILD_ID_MAX = 64, PERF_LINE_MAX = 4096, PERF_SYMBOLS_MAX = 1 << 20 };

/* State of each session: a mix of its serial and the loader's counters. */
static atomic_uint_least64_t told[HD_SESSION_LIMIT];
static atomic_uint_least64_t removed_before;

/* ---- the loader's objects ---- */

/* glibc does not reinitialise the lock of dl_iterate_phdr in a child of fork: if one of our threads held it, the child
 * could load nothing, and on older versions throw nothing, for ever. So none of our threads is in there during a fork.
 * Readers, who are admitted while a fork waits, never wait for a thread that the fork blocks. */
static pthread_rwlock_t loader = PTHREAD_RWLOCK_INITIALIZER;

int stack_objects(int (*each)(struct dl_phdr_info *info, size_t size, void *user), void *user)
{
    if (pthread_rwlock_rdlock(&loader) != 0) return 0; /* in a handler of a signal, on the thread that forks */
    int result = dl_iterate_phdr(each, user);
    pthread_rwlock_unlock(&loader);
    return result;
}

void stack_modules_fork(int phase)
{
    if (phase < 0)
        pthread_rwlock_wrlock(&loader);
    else if (phase == 0)
        pthread_rwlock_unlock(&loader);
    else
        pthread_rwlock_init(&loader, NULL); /* locked by a thread of another number */
}

typedef struct counters {
    uint64_t added, removed;
} counters;

static int count_objects(struct dl_phdr_info *info, size_t size, void *user)
{
    counters *c = user;
    if (size >= offsetof(struct dl_phdr_info, dlpi_subs) + sizeof info->dlpi_subs)
        *c = (counters){info->dlpi_adds, info->dlpi_subs};
    return 1;
}

/* The modules found so far, with concatenated texts. They are passed to the session afterwards, without the loader's
 * lock.
 */
typedef struct list {
    hd_bytes modules, texts;
} list;

typedef struct found {
    hd_session_module_info info; /* path and build_id: offsets in the texts */
    size_t path;
    uint8_t build_id[BUILD_ID_MAX];
} found;

/* The build-id among the notes of a segment. */
static void read_notes(found *out, const uint8_t *at, size_t size)
{
    while (size >= sizeof(ElfW(Nhdr))) {
        ElfW(Nhdr) note;
        memcpy(&note, at, sizeof note);
        uint64_t name = ((uint64_t)note.n_namesz + 3) & ~UINT64_C(3),
                 bytes = ((uint64_t)note.n_descsz + 3) & ~UINT64_C(3);
        if (name + bytes > size - sizeof note) return;
        const uint8_t *text = at + sizeof note;
        if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 && memcmp(text, "GNU", 4) == 0 &&
            note.n_descsz <= BUILD_ID_MAX) {
            memcpy(out->build_id, text + name, note.n_descsz);
            out->info.build_id_bytes = note.n_descsz;
            return;
        }
        at += sizeof note + name + bytes;
        size -= sizeof note + name + bytes;
    }
}

static void add_path(list *l, found *module, const char *name)
{
    char path[PATH_MAX];
    ssize_t size;
    if (!*name && (size = readlink("/proc/self/exe", path, sizeof path - 1)) > 0) {
        path[size] = 0;
        name = path;
    } else if (strncmp(name, "linux-vdso", 10) == 0 || strncmp(name, "linux-gate", 10) == 0) {
        name = "[vdso]";
    } else if (*name && *name != '/' && realpath(name, path)) {
        name = path;
    }
    module->path = l->texts.size;
    hd_bytes_put(&l->texts, name, strlen(name) + 1);
}

static int add_object(struct dl_phdr_info *info, size_t size, void *user)
{
    list *l = user;
    found module = {.info.bias = info->dlpi_addr};
    (void)size;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
        if (segment->p_type == PT_NOTE && !module.info.build_id_bytes)
            read_notes(&module, (const uint8_t *)(uintptr_t)(info->dlpi_addr + segment->p_vaddr), segment->p_memsz);
    }
    add_path(l, &module, info->dlpi_name ? info->dlpi_name : "");
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
        if (segment->p_type != PT_LOAD || !(segment->p_flags & PF_X)) continue;
        module.info.start = info->dlpi_addr + segment->p_vaddr;
        module.info.end = module.info.start + segment->p_memsz;
        module.info.offset = segment->p_offset;
        hd_bytes_put(&l->modules, &module, sizeof module);
    }
    return 0;
}

/* false: not all, as there was no memory. */
static bool emit_modules(hd_session *session, const list *l)
{
    bool fine = !l->modules.failed && !l->texts.failed;
    if (!fine) return false;
    for (size_t at = 0; at + sizeof(found) <= l->modules.size; at += sizeof(found)) {
        found module;
        memcpy(&module, l->modules.data + at, sizeof module);
        module.info.path = (const char *)l->texts.data + module.path;
        module.info.build_id = module.build_id;
        fine &= hd_session_module(session, &module.info) != 0;
    }
    return fine;
}

/* The state is stored afterwards: another thread that comes meanwhile does the same work again instead of continuing
 * without it, and failures are retried. */
void hd_session_stack_refresh(hd_session *session)
{
    counters now = {0};
    /* Inside of a session's code it could not be called, and would be missed later. */
    if (!session || session_this_thread.busy) return;
    stack_objects(count_objects, &now);
    if (atomic_load(&removed_before) != now.removed) {
        stack_rows_forget();
        atomic_store(&removed_before, now.removed);
    }
    uint64_t mark = (((uint64_t)session->serial << 32) + now.added) * UINT64_C(0x9e3779b97f4a7c15) + now.removed + 1;
    if (atomic_load(&told[session->slot]) == mark && now.added) return;
    list l = {0};
    stack_objects(add_object, &l);
    if (emit_modules(session, &l)) atomic_store(&told[session->slot], mark);
    hd_bytes_deinit(&l.modules);
    hd_bytes_deinit(&l.texts);
    stack_python_find();
}

/* ---- what the loader does not know ---- */

static int is_of_loader(struct dl_phdr_info *info, size_t size, void *user)
{
    uint64_t address = *(const uint64_t *)user;
    (void)size;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
        uint64_t start = info->dlpi_addr + segment->p_vaddr;
        if (segment->p_type == PT_LOAD && address < start + segment->p_memsz && address + 4096 > start) return 1;
    }
    return 0;
}

static void add_mappings(hd_session *session)
{
    char line[PATH_MAX + 128];
    FILE *maps = fopen("/proc/self/maps", "re");
    if (!maps) return;
    while (fgets(line, sizeof line, maps)) {
        uint64_t start, end, offset;
        char flags[8];
        int at = 0;
        if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %7s %" SCNx64 " %*s %*s %n", &start, &end, flags, &offset, &at) < 4)
            continue;
        if (flags[2] != 'x' || at == 0 || stack_objects(is_of_loader, &start)) continue;
        char *path = line + at;
        path[strcspn(path, "\n")] = 0;
        if (strcmp(path, "[vsyscall]") == 0) continue;
        hd_session_module_info info = {start, end, offset, start - offset, *path ? path : "//anon", NULL, 0};
        if (!*path) info.bias = 0;
        hd_session_module(session, &info);
    }
    fclose(maps);
}

/* ---- perf maps ---- */

static bool add_function(hd_session *session, char *line, size_t size)
{
    hd_perf_symbol symbol;
    if (!hd_perf_map_line(&symbol, line, size) || !symbol.size) return false;
    line[symbol.name - line + symbol.name_size] = 0; /* at the most the zero behind the line again */
    return hd_session_symbol(session, symbol.start, symbol.size, symbol.name) != 0;
}

uint64_t hd_session_perf_map(hd_session *session, const char *path)
{
    char line[PERF_LINE_MAX];
    struct stat info;
    uint64_t count = 0;
    /* The folder is anybody's: no links, no pipes, no files of others. */
    int fd = session ? open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK) : -1;
    if (fd < 0) return 0;
    bool is_ours = fstat(fd, &info) == 0 && S_ISREG(info.st_mode) && (info.st_uid == geteuid() || info.st_uid == 0);
    FILE *file = is_ours ? fdopen(fd, "r") : NULL;
    if (!file) {
        close(fd);
        return 0;
    }
    bool is_start = true;
    while (count < PERF_SYMBOLS_MAX && fgets(line, sizeof line, file)) {
        size_t size = strlen(line);
        bool is_whole = size < sizeof line - 1 || line[size - 1] == '\n';
        if (is_start && is_whole) count += add_function(session, line, size);
        is_start = is_whole; /* the rest of a line that is too long is not a line */
    }
    fclose(file);
    return count;
}

void hd_session_stack_finish(hd_session *session)
{
    hd_stack_stats stats;
    char path[64];
    if (!session) return;
    hd_session_stack_refresh(session);
    hd_stack_statistics(&stats);
    if (!stats.taken) return;
    add_mappings(session);
    snprintf(path, sizeof path, "/tmp/perf-%d.map", (int)getpid());
    hd_session_perf_map(session, path);
    hd_session_note(session, "stack.taken", HD_SESSION_NOTE, stats.taken);
    hd_session_note(session, "stack.cached", HD_SESSION_NOTE, stats.cached);
    if (stats.python) hd_session_note(session, "stack.python", HD_SESSION_NOTE, stats.python);
    if (stack_python_unsupported()) hd_session_note(session, "stack.python-unsupported", HD_SESSION_NOTE, 1);
    if (stats.guessed) hd_session_note(session, "stack.guessed", HD_SESSION_REPAIR, stats.guessed);
    if (stats.truncated) hd_session_note(session, "stack.truncated", HD_SESSION_LOSS, stats.truncated);
    if (stats.broken) hd_session_note(session, "stack.broken", HD_SESSION_LOSS, stats.broken);
    if (stats.failed) hd_session_note(session, "stack.failed", HD_SESSION_LOSS, stats.failed);
}

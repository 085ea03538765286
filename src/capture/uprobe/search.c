/* search.c - finds the libraries of a command as ld.so does
 *
 * In the order of ld.so: RPATH or RUNPATH of the requesting file ($ORIGIN), LD_LIBRARY_PATH, the cache of ldconfig, the
 * system's folders. Hardware folders (glibc-hwcaps) are not searched: a library from there is found when the program
 * maps it.
 */
#include "capture/uprobe/search.h"

#include <elf.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "capture/uprobe/elf.h"

#if defined(__aarch64__)
#define SYSTEM_FOLDERS "/lib/aarch64-linux-gnu:/usr/lib/aarch64-linux-gnu:/lib64:/usr/lib64:/lib:/usr/lib"
#else
#define SYSTEM_FOLDERS "/lib/x86_64-linux-gnu:/usr/lib/x86_64-linux-gnu:/lib64:/usr/lib64:/lib:/usr/lib"
#endif

static const char *base_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

static bool is_file(const char *path)
{
    struct stat info;
    return stat(path, &info) == 0 && S_ISREG(info.st_mode);
}

/* Whether it is a library for this machine: ld.so skips others. */
static bool is_ours(const char *path)
{
    uprobe_elf elf;
    if (uprobe_elf_open(&elf, path, NULL) != HD_OK) return false;
    uprobe_elf_close(&elf);
    return true;
}

/* ---- lists of folders ---- */

/* One folder of a list, with $ORIGIN and ${ORIGIN} replaced; false: too long. */
static bool expand(char *out, const char *folder, size_t size, const char *origin)
{
    size_t skip = size >= 7 && memcmp(folder, "$ORIGIN", 7) == 0     ? 7
                  : size >= 9 && memcmp(folder, "${ORIGIN}", 9) == 0 ? 9
                                                                     : 0;
    size_t before = skip && origin ? (size_t)(base_of(origin) - origin) : 0;
    int written =
        snprintf(out, PATH_MAX, "%.*s%.*s", (int)before, origin ? origin : "", (int)(size - skip), folder + skip);
    return written >= 0 && written < PATH_MAX;
}

/* The first of a list of folders (with ':') that has the file. `origin`: who asks. */
static char *find_in(const char *list, const char *name, const char *origin)
{
    char folder[PATH_MAX], path[PATH_MAX + NAME_MAX + 2];
    for (const char *at = list; at && *at;) {
        size_t size = strcspn(at, ":;");
        if (size < PATH_MAX && expand(folder, at, size, origin)) {
            snprintf(path, sizeof path, "%s/%.*s", *folder ? folder : ".", NAME_MAX, name);
            if (is_file(path) && is_ours(path)) return realpath(path, NULL);
        }
        at += size;
        if (*at) at++;
    }
    return NULL;
}

/* ---- the cache of ldconfig ---- */

typedef struct library_cache {
    const uint8_t *data;
    size_t size;
    uint32_t count;
} library_cache;

#define CACHE_MAGIC "glibc-ld.so.cache1.1"
enum { CACHE_HEADER = 48, CACHE_ENTRY = 24 };

static uint32_t u32_at(const uint8_t *p)
{
    uint32_t value;
    memcpy(&value, p, sizeof value);
    return value;
}

static void open_cache(library_cache *out, const char *path)
{
    struct stat info;
    *out = (library_cache){0};
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return;
    if (fstat(fd, &info) == 0 && S_ISREG(info.st_mode) && info.st_size >= CACHE_HEADER && info.st_size < INT32_MAX) {
        void *map = mmap(NULL, (size_t)info.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
        if (map != MAP_FAILED) *out = (library_cache){map, (size_t)info.st_size, 0};
    }
    close(fd);
    if (!out->data || memcmp(out->data, CACHE_MAGIC, strlen(CACHE_MAGIC)) != 0) return;
    uint32_t count = u32_at(out->data + 20);
    if (count <= (out->size - CACHE_HEADER) / CACHE_ENTRY) out->count = count;
}

static void close_cache(library_cache *cache)
{
    if (cache->data) munmap((void *)(uintptr_t)cache->data, cache->size);
}

static const char *cache_text(const library_cache *cache, uint32_t entry, unsigned field)
{
    uint32_t at = u32_at(cache->data + CACHE_HEADER + (size_t)entry * CACHE_ENTRY + field);
    if (at >= cache->size || !memchr(cache->data + at, 0, cache->size - at)) return "";
    return (const char *)cache->data + at;
}

static char *find_in_cache(const char *name)
{
    library_cache found;
    char *path = NULL;
    open_cache(&found, "/etc/ld.so.cache");
    for (uint32_t i = 0; i < found.count && !path; i++) {
        const char *place = cache_text(&found, i, 8);
        if (uprobe_search_is(name, cache_text(&found, i, 4)) && is_file(place) && is_ours(place))
            path = realpath(place, NULL);
    }
    close_cache(&found);
    return path;
}

/* ---- what a command is ---- */

static char *find_command(const char *word)
{
    if (strchr(word, '/')) return realpath(word, NULL);
    const char *list = getenv("PATH");
    char path[PATH_MAX + NAME_MAX + 2];
    for (const char *at = list ? list : "/usr/bin:/bin"; *at;) {
        size_t size = strcspn(at, ":");
        if (size < PATH_MAX) {
            snprintf(path, sizeof path, "%.*s/%.*s", size ? (int)size : 1, size ? at : ".", NAME_MAX, word);
            if (is_file(path) && access(path, X_OK) == 0) return realpath(path, NULL);
        }
        at += size;
        if (*at) at++;
    }
    return NULL;
}

/* The interpreter of a script; NULL: `path` is none. `#!/usr/bin/env NAME` is NAME. */
static char *interpreter_of(const char *path)
{
    char line[512], *words[2] = {NULL, NULL}, *rest = line + 2;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    ssize_t size = fd >= 0 ? read(fd, line, sizeof line - 1) : -1;
    if (fd >= 0) close(fd);
    if (size < 3 || memcmp(line, "#!", 2) != 0) return NULL;
    line[size] = 0;
    line[strcspn(line, "\n")] = 0;
    for (int i = 0; i < 2; i++) {
        do words[i] = strsep(&rest, " \t");
        while (words[i] && !*words[i]);
    }
    if (!words[0]) return NULL;
    return find_command(words[1] && strcmp(base_of(words[0]), "env") == 0 ? words[1] : words[0]);
}

/* ---- what it is linked with ---- */

static const uprobe_library *library_of(const uprobe_search *search, const char *name)
{
    for (uint32_t i = 0; i < search->count; i++) {
        if (strcmp(search->libraries[i].name, name) == 0) return &search->libraries[i];
    }
    return NULL;
}

static char *find_needed(const uprobe_elf *who, const char *origin, const char *name)
{
    uint64_t at = 0, at_rpath = 0;
    if (strchr(name, '/')) return realpath(name, NULL);
    const char *runpath = uprobe_elf_dynamic(who, DT_RUNPATH, &at);
    const char *rpath = runpath ? NULL : uprobe_elf_dynamic(who, DT_RPATH, &at_rpath);
    char *path = find_in(rpath, name, origin);
    if (!path) path = find_in(getenv("LD_LIBRARY_PATH"), name, NULL);
    if (!path) path = find_in(runpath, name, origin);
    if (!path) path = find_in_cache(name);
    return path ? path : find_in(SYSTEM_FOLDERS, name, NULL);
}

static hd_status add_library(uprobe_search *search, const char *name, char *path, hd_error *err)
{
    char *copy = strdup(name);
    if (!copy) {
        free(path);
        return HD_NOMEM(err);
    }
    search->libraries[search->count++] = (uprobe_library){copy, path};
    return HD_OK;
}

hd_status uprobe_search_add(uprobe_search *search, const char *path, hd_error *err)
{
    bool is_executable = search->executable && strcmp(search->executable, path) == 0;
    if (is_executable || search->count == UPROBE_LIBRARIES_MAX) return HD_OK;
    for (uint32_t i = 0; i < search->count; i++) {
        if (strcmp(search->libraries[i].path, path) == 0) return HD_OK;
    }
    char *copy = strdup(path);
    return copy ? add_library(search, base_of(path), copy, err) : HD_NOMEM(err);
}

static hd_status add_needed(uprobe_search *search, const char *path, hd_error *err)
{
    uprobe_elf elf;
    uint64_t at = 0;
    hd_status status = HD_OK;
    if (uprobe_elf_open(&elf, path, NULL) != HD_OK) return HD_OK;
    for (const char *name; status == HD_OK && (name = uprobe_elf_dynamic(&elf, DT_NEEDED, &at));) {
        if (search->count == UPROBE_LIBRARIES_MAX || library_of(search, name)) continue;
        char *found = find_needed(&elf, path, name);
        if (found) status = add_library(search, name, found, err);
    }
    uprobe_elf_close(&elf);
    return status;
}

hd_status uprobe_search_init(uprobe_search *search, const char *const *command, hd_error *err)
{
    *search = (uprobe_search){.command = strdup(command && command[0] ? command[0] : ""),
                              .libraries = calloc(UPROBE_LIBRARIES_MAX, sizeof *search->libraries)};
    if (!search->command || !search->libraries) return HD_NOMEM(err);
    if (*search->command) search->executable = find_command(search->command);
    char *interpreter = search->executable ? interpreter_of(search->executable) : NULL;
    if (interpreter) {
        free(search->executable);
        search->executable = interpreter;
    }
    if (search->executable) HD_TRY(add_needed(search, search->executable, err));
    for (uint32_t i = 0; i < search->count; i++) HD_TRY(add_needed(search, search->libraries[i].path, err));
    return HD_OK;
}

void uprobe_search_deinit(uprobe_search *search)
{
    for (uint32_t i = 0; i < search->count; i++) {
        free(search->libraries[i].name);
        free(search->libraries[i].path);
    }
    free(search->libraries);
    free(search->command);
    free(search->executable);
    *search = (uprobe_search){0};
}

/* ---- answers ---- */

bool uprobe_search_is(const char *asked, const char *name)
{
    size_t size = strlen(asked);
    return size && strncmp(asked, name, size) == 0 && (!name[size] || (name[size] == '.' && strstr(asked, ".so")));
}

char *uprobe_search_find(const uprobe_search *search, const char *name)
{
    if (strchr(name, '/')) return realpath(name, NULL);
    if (search->executable &&
        (strcmp(base_of(search->command), name) == 0 || strcmp(base_of(search->executable), name) == 0))
        return strdup(search->executable);
    for (uint32_t i = 0; i < search->count; i++) {
        if (uprobe_search_is(name, search->libraries[i].name)) return strdup(search->libraries[i].path);
    }
    char *path = find_in(getenv("LD_LIBRARY_PATH"), name, NULL);
    if (!path && search->executable) path = find_in("$ORIGIN", name, search->executable);
    if (!path) path = find_in_cache(name);
    return path ? path : find_in(SYSTEM_FOLDERS, name, NULL);
}

void uprobe_search_offer(const uprobe_search *search, uprobe_near *near)
{
    library_cache found;
    for (uint32_t i = 0; i < search->count; i++)
        uprobe_near_offer(near, search->libraries[i].name, strlen(search->libraries[i].name));
    if (search->executable) uprobe_near_offer(near, base_of(search->executable), strlen(base_of(search->executable)));
    open_cache(&found, "/etc/ld.so.cache");
    for (uint32_t i = 0; i < found.count; i++) {
        const char *name = cache_text(&found, i, 4);
        uprobe_near_offer(near, name, strlen(name));
    }
    close_cache(&found);
}

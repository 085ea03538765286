/* load.c - where libcupti may be, and loading it
 *
 * Paths come from the environment and from what the program has loaded. Unless HEDDLE_CUPTI names one, the newest that
 * the driver's major version runs is tried first: newer ones have fewer defects (base/cupti_known.h), and PyTorch
 * brings an old one. Which is the newest is known from their files, without loading them. A library is loaded only
 * once, by its file; one that does not suit stays loaded if it was asked anything, since CUPTI cannot be unloaded
 * safely.
 */
#include <dlfcn.h>
#include <link.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "capture/cuda/cupti/load.h"

enum { TRIED_MAX = 32, FOLDERS_MAX = 64, CUDA_OF_ANY_VERSION = 12 };

typedef struct search {
    cuda_cupti *out;
    cupti_accepts *accepts;
    void *user;
    bool is_found, wanted_fails;
    bool is_survey;  /* only the versions of libraries are read */
    uint32_t driver; /* major version of CUDA */
    uint64_t newest; /* cuda_cupti_file_version, and path */
    char newest_path[PATH_MAX];
    struct {
        dev_t device;
        ino_t inode;
    } tried[TRIED_MAX];
    unsigned tried_count;
    char why[256]; /* of the first that was there and did not suit */
} search;

/* ---- one library ---- */

static bool resolve(cuda_cupti *cupti, char *why, size_t why_bytes)
{
    const char *missing = NULL;
#define RESOLVE(name) cupti->name = (cupti_fn_##name)(uintptr_t)dlsym(cupti->library, "cupti" #name);
#define NEED(name)                                                                                                     \
    RESOLVE(name)                                                                                                      \
    if (!cupti->name && !missing) missing = "cupti" #name;
    CUPTI_NEEDED(NEED)
    CUPTI_OPTIONAL(RESOLVE)
#undef NEED
#undef RESOLVE
    if (!missing) return true;
    snprintf(why, why_bytes, "has no %s", missing);
    return false;
}

static bool is_new_enough(cuda_cupti *cupti, char *why, size_t why_bytes)
{
    if (cupti->GetVersion(&cupti->version) == CUPTI_OK && cupti->version >= CUPTI_VERSION_OLDEST) return true;
    snprintf(why, why_bytes, "is of API version %u, older than CUDA 11.0", cupti->version);
    return false;
}

/* Whether the library is another file than all before. */
static bool is_new(search *s, const char *path)
{
    struct stat info;
    if (stat(path, &info) != 0) return true; /* the loader knows better where a bare name is */
    for (unsigned i = 0; i < s->tried_count; i++) {
        if (s->tried[i].device == info.st_dev && s->tried[i].inode == info.st_ino) return false;
    }
    if (s->tried_count == TRIED_MAX) return false;
    s->tried[s->tried_count].device = info.st_dev;
    s->tried[s->tried_count++].inode = info.st_ino;
    return true;
}

static void remember(search *s, const char *path, const char *why)
{
    if (!s->why[0]) snprintf(s->why, sizeof s->why, "%.150s %.90s", path, why);
}

static void use_library(search *s, void *library, const char *path)
{
    char why[160] = "";
    struct link_map *map = NULL;
    cuda_cupti *cupti = s->out;
    *cupti = (cuda_cupti){.library = library};
    if (dlinfo(library, RTLD_DI_LINKMAP, &map) == 0 && map && map->l_name && map->l_name[0]) path = map->l_name;
    snprintf(cupti->path, sizeof cupti->path, "%s", path);
    if (!is_new(s, cupti->path)) {
        dlclose(library);
        return;
    }
    if (!resolve(cupti, why, sizeof why) || !is_new_enough(cupti, why, sizeof why)) {
        remember(s, cupti->path, why);
        dlclose(library);
    } else if (s->accepts(cupti, s->user, why, sizeof why)) {
        s->is_found = true;
    } else {
        remember(s, cupti->path, why);
    }
}

static void survey_path(search *s, const char *path)
{
    uint64_t version = cuda_cupti_file_version(path);
    if (version <= s->newest || version >> CUPTI_FILE_MAJOR_BIT > s->driver) return;
    s->newest = version;
    snprintf(s->newest_path, sizeof s->newest_path, "%s", path);
}

static void try_path(search *s, const char *path, bool is_wanted)
{
    if (s->is_found) return;
    if (strchr(path, '/') && access(path, R_OK) != 0 && !is_wanted) return;
    if (s->is_survey) {
        if (strchr(path, '/')) survey_path(s, path);
        return;
    }
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (library) {
        use_library(s, library, path);
    } else if (is_wanted || strchr(path, '/')) {
        const char *error = dlerror();
        size_t size = strlen(path);
        if (error && strncmp(error, path, size) == 0 && error[size] == ':') error += size + 2; /* it begins with it */
        remember(s, path, error ? error : "cannot be loaded");
    }
}

/* The newest first: a library that is newer than the driver refuses. */
static void try_folder(search *s, const char *folder)
{
    static const char *const names[] = {"libcupti.so.13",   "libcupti.so.12",   "libcupti.so.11.8", "libcupti.so.11.7",
                                        "libcupti.so.11.6", "libcupti.so.11.5", "libcupti.so.11.4", "libcupti.so.11.3",
                                        "libcupti.so.11.2", "libcupti.so.11.1", "libcupti.so.11.0", "libcupti.so"};
    char path[PATH_MAX];
    for (size_t i = 0; i < sizeof names / sizeof *names && !s->is_found; i++) {
        int size = snprintf(path, sizeof path, "%s%s%s", folder, *folder ? "/" : "", names[i]);
        if (size > 0 && (size_t)size < sizeof path) try_path(s, path, false);
    }
}

/* ---- where ---- */

/* What the program has loaded: copies of the names, since loading changes the list. */
typedef struct loaded {
    char *cupti;
    char *folders[FOLDERS_MAX];
    unsigned count;
} loaded;

static void add_folder(loaded *list, const char *path, const char *slash, const char *below)
{
    char *folder = NULL;
    if (list->count == FOLDERS_MAX) return;
    if (asprintf(&folder, "%.*s%s", (int)(slash - path), path, below) < 0) return;
    list->folders[list->count++] = folder;
}

static int see_loaded(struct dl_phdr_info *info, size_t size, void *user)
{
    /* pip: nvidia/cuda_runtime/lib has libcudart of 11 and 12, nvidia/cu13/lib all of 13, torch/lib libtorch. */
    loaded *list = user;
    const char *path = info->dlpi_name, *slash = path ? strrchr(path, '/') : NULL;
    (void)size;
    if (!slash) return 0;
    if (strncmp(slash, "/libcupti.so", 12) == 0 && !list->cupti) {
        list->cupti = strdup(path);
    } else if (strncmp(slash, "/libcudart.so", 13) == 0) {
        add_folder(list, path, slash, "");
        add_folder(list, path, slash, "/../extras/CUPTI/lib64");
        add_folder(list, path, slash, "/../../../extras/CUPTI/lib64"); /* targets/x86_64-linux/lib */
        add_folder(list, path, slash, "/../../cuda_cupti/lib");
    } else if (strncmp(slash, "/libtorch_cuda.so", 17) == 0 || strncmp(slash, "/libtorch_cpu.so", 16) == 0) {
        add_folder(list, path, slash, "");
        add_folder(list, path, slash, "/../../nvidia/cuda_cupti/lib");
        add_folder(list, path, slash, "/../../nvidia/cu13/lib");
    }
    return 0;
}

static void try_environment(search *s, const char *variable)
{
    char folder[PATH_MAX];
    const char *home = secure_getenv(variable);
    if (!home || home[0] != '/' || strlen(home) > PATH_MAX / 2) return;
    snprintf(folder, sizeof folder, "%.2048s/extras/CUPTI/lib64", home);
    try_folder(s, folder);
    snprintf(folder, sizeof folder, "%.2048s/lib64", home);
    try_folder(s, folder);
}

static void try_places(search *s, const loaded *list)
{
    if (list->cupti) try_path(s, list->cupti, false);
    for (unsigned i = 0; i < list->count; i++) try_folder(s, list->folders[i]);
    try_environment(s, "CUDA_HOME");
    try_environment(s, "CUDA_PATH");
    try_folder(s, "");
    try_folder(s, "/usr/local/cuda/extras/CUPTI/lib64");
    try_folder(s, "/usr/local/cuda/lib64");
}

/* Folders that the loader searches for the program. Those of ldconfig's cache are not among them: what is only there is
 * found by its name, in the order of try_places. */
static void survey_loader(search *s)
{
#ifdef __GLIBC__
    Dl_serinfo size, *info = NULL;
    void *program = dlopen(NULL, RTLD_LAZY);
    if (program && dlinfo(program, RTLD_DI_SERINFOSIZE, &size) == 0) info = calloc(1, size.dls_size);
    if (info && dlinfo(program, RTLD_DI_SERINFOSIZE, info) == 0 && dlinfo(program, RTLD_DI_SERINFO, info) == 0) {
        for (unsigned i = 0; i < info->dls_cnt; i++) try_folder(s, info->dls_serpath[i].dls_name);
    }
    free(info);
    if (program) dlclose(program);
#else
    (void)s;
#endif
}

/* 0: not known. */
static uint32_t driver_major(void)
{
    int version = 0;
    void *driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
    int (*get)(int *) = NULL;
    if (driver) *(void **)&get = dlsym(driver, "cuDriverGetVersion");
    if (get && get(&version) != 0) version = 0;
    if (driver) dlclose(driver);
    return version > 0 ? (uint32_t)version / 1000 : 0;
}

static void try_all(search *s)
{
    const char *wanted = secure_getenv("HEDDLE_CUPTI");
    loaded list = {0};
    if (wanted && wanted[0]) try_path(s, wanted, true);
    s->wanted_fails = wanted && wanted[0] && !s->is_found;
    dl_iterate_phdr(see_loaded, &list);
    s->driver = driver_major();
    /* Versions before 13.0 do not say of which CUDA they are. */
    s->is_survey = !s->is_found && s->driver >= CUDA_OF_ANY_VERSION;
    if (s->is_survey) {
        survey_loader(s);
        try_places(s, &list);
    }
    s->is_survey = false;
    if (s->newest) try_path(s, s->newest_path, false);
    try_places(s, &list);
    free(list.cupti);
    for (unsigned i = 0; i < list.count; i++) free(list.folders[i]);
}

bool cuda_cupti_load(cuda_cupti *out, cupti_accepts *accepts, void *user, char *why, size_t why_bytes)
{
    search s = {.out = out, .accepts = accepts, .user = user};
    try_all(&s);
    why[0] = 0;
    if (s.is_found && s.wanted_fails) snprintf(why, why_bytes, "HEDDLE_CUPTI: %s; another one is used.", s.why);
    if (s.is_found) return true;
    if (s.why[0])
        snprintf(why, why_bytes, "No CUPTI that works was found: %s.", s.why);
    else
        snprintf(why, why_bytes, "CUPTI (libcupti.so) was not found.");
    return false;
}

const char *cuda_cupti_text(const cuda_cupti *cupti, cupti_status status)
{
    const char *text = NULL;
    if (cupti->GetResultString(status, &text) != CUPTI_OK || !text) return "an unknown error";
    return text;
}

const char *cuda_cupti_advice(cupti_status status)
{
    void *driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
    if (!driver)
        return "There is no NVIDIA driver in this program (no libcuda.so.1): run it on a machine that has one; a "
               "container needs --gpus all and NVIDIA_DRIVER_CAPABILITIES=compute,utility.";
    dlclose(driver);
    switch (status) {
    case CUPTI_NO_PRIVILEGES:
    case CUPTI_VIRTUAL_PRIVILEGES:
        return "Only administrators may profile here (ERR_NVGPUCTRPERM): load the module nvidia with "
               "NVreg_RestrictProfilingToAdminUsers=0, or run as root; a container needs --cap-add=SYS_ADMIN.";
    case CUPTI_CONFIDENTIAL: return "It cannot be done with confidential computing: turn that off on the host.";
    case CUPTI_VIRTUAL_DEVICE: return "This virtual GPU may not be profiled: the host's administrator can allow it.";
    case CUPTI_CMP_DEVICE: return "This GPU (for mining) cannot be profiled: use another, by CUDA_VISIBLE_DEVICES.";
    case CUPTI_MIG_DEVICE:
        return "This MIG instance cannot be profiled: use one that shares its GPU instance with no other, or the whole "
               "GPU (CUDA_VISIBLE_DEVICES).";
    case CUPTI_SLI_DEVICE: return "GPUs joined by SLI cannot be profiled: turn SLI off.";
    case CUPTI_WSL_DEVICE: return "This GPU cannot be profiled under WSL: run on Linux itself.";
    case CUPTI_BAD_DEVICE:
    case CUPTI_LEGACY_PROFILER:
    case CUPTI_NOT_SUPPORTED: return "This CUPTI does not know this GPU: HEDDLE_CUPTI can name that of another CUDA.";
    case CUPTI_NOT_COMPATIBLE:
        return "CUPTI and driver do not fit, or another profiler is in use: HEDDLE_CUPTI can name a CUPTI of the "
               "driver's major version or older.";
    case CUPTI_OLD_PROFILER:
    case CUPTI_HARDWARE_BUSY: return "Another profiler is in use: end it (nsys, ncu, DCGM).";
    default: return "";
    }
}

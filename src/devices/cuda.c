/* cuda.c - whether the injected CUDA tracer works: driver, libcuda, libcupti, our library, permissions
 *
 * libcuda and libcupti are loaded, so that the answer matches a traced program's view; nothing in them is initialised.
 * A program may bring its own CUPTI (PyTorch's wheels do), so a missing one here is no obstacle.
 */
#include <dlfcn.h>
#include <glob.h>
#include <limits.h>
#include <link.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cupti_known.h"
#include "devices/impl.h"

typedef struct cuda_facts {
    char libcuda[DEVICES_PATH_BYTES / 4]; /* path, "": not found */
    char libcupti[DEVICES_PATH_BYTES / 4];
    int cupti_major;   /* of its name, 13; 0: none */
    uint32_t cupti;    /* the version from cuptiGetVersion; 0: not called */
    bool driver;       /* the kernel's part is loaded */
    bool denied;       /* /dev/nvidiactl is not for us */
    bool is_elsewhere; /* the tracer does not look there */
    bool admin_only;   /* RmProfilingAdminOnly */
} cuda_facts;

/* ---- libraries ---- */

static bool load(void **out, char *path, size_t size, const char *name)
{
    struct link_map *map = NULL;
    /* CUPTI's C++ runtime keeps memory that would be lost with it. */
    *out = dlopen(name, RTLD_LAZY | RTLD_LOCAL | RTLD_NODELETE);
    if (!*out) return false;
    bool known = dlinfo(*out, RTLD_DI_LINKMAP, &map) == 0 && map && map->l_name[0];
    devices_text(path, size, "%s", known ? map->l_name : name);
    return true;
}

/* The first file below root that a pattern fits and that can be used; for another machine's root, that is there. */
static bool load_pattern(void **out, char *path, size_t size, const char *root, const char *pattern)
{
    char full[DEVICES_PATH_BYTES];
    glob_t found;
    bool fine = false;
    *out = NULL;
    if (!devices_path(full, sizeof full, root, "%s", pattern) || glob(full, 0, NULL, &found) != 0) return false;
    /* From behind: the newest version of several. */
    for (size_t i = found.gl_pathc; i-- > 0 && !fine;) {
        fine = root[0] ? access(found.gl_pathv[i], R_OK) == 0 : load(out, path, size, found.gl_pathv[i]);
        if (fine && root[0]) devices_text(path, size, "%s", found.gl_pathv[i] + strlen(root));
    }
    globfree(&found);
    return fine;
}

static bool load_somewhere(void **out, char *path, size_t size, const char *root, const char *name,
                           const char *const *folders)
{
    char pattern[DEVICES_PATH_BYTES];
    if (!root[0] && load(out, path, size, name)) return true;
    for (; *folders; folders++)
        if ((size_t)snprintf(pattern, sizeof pattern, "%s/%s", *folders, name) < sizeof pattern &&
            load_pattern(out, path, size, root, pattern))
            return true;
    return false;
}

static void find_libcuda(cuda_facts *facts, const char *root)
{
    static const char *const folders[] = {
        "/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu", "/usr/lib64", "/usr/lib", "/usr/lib/wsl/lib",
        "/usr/local/nvidia/lib64",   "/run/opengl-driver/lib",     NULL};
    void *library = NULL;
    if (!load_somewhere(&library, facts->libcuda, sizeof facts->libcuda, root, "libcuda.so.1", folders))
        facts->libcuda[0] = '\0';
    if (library) dlclose(library);
}

typedef struct cupti_search {
    cuda_facts *facts;
    const char *root;
    int newest; /* CUDA that the driver runs, its major number; 0: not known */
} cupti_search;

/* The major version in a file name: 13, 12, 11; 0: none. */
static int major_of(const char *name)
{
    const char *number = strstr(name, ".so.");
    return number ? atoi(number + 4) : 0;
}

/* Take it, if there is none yet, or only one that is newer than the driver, or older than this. */
static bool take_cupti(cupti_search *s, void *library, const char *path, int major)
{
    cuda_facts *facts = s->facts;
    bool too_new = s->newest && major > s->newest;
    int (*version)(uint32_t *) = NULL;
    uint32_t api = 0;
    void *symbol = library ? dlsym(library, "cuptiGetVersion") : NULL;
    if (symbol) memcpy(&version, &symbol, sizeof version);
    if (version && version(&api) != 0) api = 0;
    if (library) dlclose(library);
    /* Before CUDA 12 a version does not say whether the driver runs it: the first stays. */
    bool is_better =
        s->newest && !too_new && (facts->cupti_major > s->newest || (s->newest >= 12 && api > facts->cupti));
    if (facts->libcupti[0] && !is_better) return false;
    devices_text(facts->libcupti, sizeof facts->libcupti, "%s", path);
    facts->cupti_major = major;
    facts->cupti = api;
    return !too_new;
}

/* Takes any CUPTI in a folder, which may be a pattern; "" is where the loader looks. True: one that suits the
 * driver. */
static bool try_folder(cupti_search *s, const char *folder)
{
    static const char *const names[] = {"libcupti.so.13",   "libcupti.so.12",   "libcupti.so.11.8", "libcupti.so.11.7",
                                        "libcupti.so.11.6", "libcupti.so.11.5", "libcupti.so.11.4", "libcupti.so.11.3",
                                        "libcupti.so.11.2", "libcupti.so.11.1", "libcupti.so.11.0", "libcupti.so"};
    char pattern[DEVICES_PATH_BYTES], path[sizeof s->facts->libcupti];
    bool is_taken = false;
    for (size_t i = 0; i < sizeof names / sizeof *names && !is_taken; i++) {
        void *library = NULL;
        bool found = false;
        if (!folder[0])
            found = !s->root[0] && load(&library, path, sizeof path, names[i]);
        else if ((size_t)snprintf(pattern, sizeof pattern, "%s/%s", folder, names[i]) < sizeof pattern)
            found = load_pattern(&library, path, sizeof path, s->root, pattern);
        is_taken = found && take_cupti(s, library, path, major_of(names[i]));
    }
    return is_taken;
}

static bool try_environment(cupti_search *s, const char *variable, const char *below)
{
    char folder[PATH_MAX];
    const char *home = getenv(variable);
    return !s->root[0] && home && home[0] == '/' &&
           (size_t)snprintf(folder, sizeof folder, "%s/%s", home, below) < sizeof folder && try_folder(s, folder);
}

/* Where libheddle-cuda.so looks, in a program that has no CUPTI of its own: src/capture/cuda/cupti/load.c. */
static bool find_as_tracer(cupti_search *s)
{
    const char *named = getenv("HEDDLE_CUPTI");
    void *library = NULL;
    char path[sizeof s->facts->libcupti];
    if (!s->root[0] && named && named[0] && load(&library, path, sizeof path, named) &&
        take_cupti(s, library, path, major_of(path)))
        return true;
    /* Each of these: the newest is used. */
    try_environment(s, "CUDA_HOME", "extras/CUPTI/lib64");
    try_environment(s, "CUDA_HOME", "lib64");
    try_environment(s, "CUDA_PATH", "extras/CUPTI/lib64");
    try_environment(s, "CUDA_PATH", "lib64");
    try_folder(s, "");
    try_folder(s, "/usr/local/cuda/extras/CUPTI/lib64");
    try_folder(s, "/usr/local/cuda/lib64");
    return s->facts->libcupti[0] && (!s->newest || s->facts->cupti_major <= s->newest);
}

/* Places outside the search path, which an option can name. */
static bool find_elsewhere(cupti_search *s)
{
    static const char *const folders[] = {"/usr/local/cuda*/extras/CUPTI/lib64",
                                          "/usr/local/cuda*/lib64",
                                          "/usr/local/cuda*/targets/*/lib",
                                          "/usr/local/cuda*/lib",
                                          "/usr/lib/x86_64-linux-gnu",
                                          "/usr/lib/aarch64-linux-gnu",
                                          "/opt/cuda/extras/CUPTI/lib64",
                                          "/usr/local/lib/python3*/*-packages/nvidia/c*/lib",
                                          NULL};
    static const char below[] = "lib/python3*/site-packages/nvidia/c*/lib";
    for (const char *const *folder = folders; *folder; folder++)
        if (try_folder(s, *folder)) return true;
    return try_environment(s, "VIRTUAL_ENV", below) || try_environment(s, "CONDA_PREFIX", below);
}

static void find_libcupti(cuda_facts *facts, const hd_devices *devices, const char *root)
{
    cupti_search s = {.facts = facts, .root = root, .newest = atoi(devices->cuda_driver)};
    if (find_as_tracer(&s) || facts->libcupti[0]) return;
    facts->is_elsewhere = find_elsewhere(&s) || facts->libcupti[0];
}

/* ---- driver ---- */

static bool admin_only(const char *root)
{
    char path[DEVICES_PATH_BYTES], line[256];
    bool found = false;
    FILE *file = devices_path(path, sizeof path, root, "/proc/driver/nvidia/params") ? devices_open(path) : NULL;
    if (!file) return false;
    for (int i = 0; i < 1024 && fgets(line, sizeof line, file); i++)
        if (strncmp(line, "RmProfilingAdminOnly:", 21) == 0) found = strtol(line + 21, NULL, 10) == 1;
    fclose(file);
    return found;
}

static void find_driver(cuda_facts *facts, const hd_devices *devices, const char *root)
{
    char path[DEVICES_PATH_BYTES];
    facts->driver = devices->driver[0] != '\0' ||
                    (devices_path(path, sizeof path, root, "/proc/driver/nvidia/version") && devices_exists(path));
    if (!root[0] && access("/dev/nvidiactl", F_OK) == 0) facts->denied = access("/dev/nvidiactl", R_OK | W_OK) != 0;
    facts->admin_only = admin_only(root);
}

/* ---- text ---- */

/* "driver 580.95, CUDA 13.0; libcuda: /usr/…; CUPTI 13 (API 130000): /usr/…; tracer: /usr/…" */
static void describe(char *out, size_t size, const cuda_facts *facts, const hd_devices *devices)
{
    char api[32] = "";
    if (facts->cupti) snprintf(api, sizeof api, " (API %u)", facts->cupti);
    devices_text(out, size, "driver %s%s%.20s; libcuda: %s; CUPTI%s%.0d%s: %s; tracer: %.200s",
                 facts->driver ? (devices->driver[0] ? devices->driver : "loaded") : "not loaded",
                 devices->cuda_driver[0] ? ", CUDA " : "", devices->cuda_driver,
                 facts->libcuda[0] ? facts->libcuda : "not found", facts->cupti_major ? " " : "", facts->cupti_major,
                 api, facts->libcupti[0] ? facts->libcupti : "not found",
                 devices->injection[0] ? devices->injection : "not found");
}

/* All is there: what else to know. */
static void judge_version(hd_way *way, const cuda_facts *facts, const char *found)
{
    char known[512], advice[HD_WAY_TEXT_BYTES] = "";
    bool has_defects = facts->cupti && hd_cupti_tell(known, sizeof known, facts->cupti);
    if (has_defects)
        devices_text(advice, sizeof advice,
                     "Known defects of this CUPTI: %s. HEDDLE_CUPTI can name a newer one of the driver's major "
                     "version.",
                     known);
    size_t used = strlen(advice);
    if (facts->admin_only)
        devices_text(advice + used, sizeof advice - used,
                     "%sMetrics of the GPU's counters need root here (RmProfilingAdminOnly is 1); traces do not.",
                     used ? " " : "");
    devices_say(way, HD_WAY_WORKS, advice, "%s", found);
}

static void judge(hd_way *way, const cuda_facts *facts, const hd_devices *devices, const char *found)
{
    int newest = atoi(devices->cuda_driver);
    if (!facts->driver)
        devices_say(way, HD_WAY_MISSING,
                    "Run on a machine with an NVIDIA GPU and its driver; a container needs --gpus all. Without a GPU, "
                    "uprobe records launches.",
                    "no NVIDIA driver: %s", found);
    else if (facts->denied)
        devices_say(way, HD_WAY_MISSING, "Ask for access to /dev/nvidiactl and /dev/nvidia0 (often the group video).",
                    "no permission for /dev/nvidiactl: %s", found);
    else if (!facts->libcuda[0])
        devices_say(
            way, HD_WAY_MISSING,
            "Install the driver's user part (libcuda1 or nvidia-driver-libs); start a container with --gpus all "
            "and NVIDIA_DRIVER_CAPABILITIES=compute,utility.",
            "no libcuda.so.1: %s", found);
    else if (!devices->injection[0])
        devices_say(way, HD_WAY_MISSING,
                    "Install heddle with its library, or build it on Linux: libheddle-cuda.so is HEDDLE_CUDA_LIBRARY "
                    "where that is set, else searched next to heddle and in ../lib/heddle.",
                    "libheddle-cuda.so is missing: %s", found);
    else if (facts->cupti_major && newest && facts->cupti_major > newest)
        devices_say(
            way, HD_WAY_PARTLY,
            "Update the driver, or install the CUPTI of its CUDA version; a program that brings its own CUPTI is "
            "captured with that.",
            "CUPTI is newer than the driver: %s", found);
    else if (facts->is_elsewhere)
        devices_say(
            way, HD_WAY_PARTLY,
            "Set HEDDLE_CUPTI to that file, or CUDA_HOME to its toolkit: the tracer does not look there by itself. "
            "Programs that bring their own CUPTI, as PyTorch does, need neither.",
            "CUPTI lies where nobody looks: %s", found);
    else if (!facts->libcupti[0])
        devices_say(way, HD_WAY_PARTLY,
                    "Install CUPTI (cuda-cupti of NVIDIA's package source, or pip install nvidia-cuda-cupti).",
                    "only programs that bring their own CUPTI, as PyTorch does: %s", found);
    else
        judge_version(way, facts, found);
}

static void find_injection(hd_devices *devices, const char *root)
{
    char real[PATH_MAX];
    const char *named = root[0] ? NULL : getenv("HEDDLE_CUDA_LIBRARY");
    if (named && named[0]) /* as `heddle record`, which takes no other one then */
        devices_text(devices->injection, sizeof devices->injection, "%s", realpath(named, real) ? real : "");
    else if (!hd_devices_library(devices->injection, sizeof devices->injection, "libheddle-cuda.so"))
        devices->injection[0] = '\0';
}

void devices_way_cuda(hd_way *way, hd_devices *devices, const char *root)
{
    cuda_facts facts = {0};
    char found[HD_WAY_TEXT_BYTES - 64];
    find_driver(&facts, devices, root);
    find_libcuda(&facts, root);
    find_libcupti(&facts, devices, root);
    if (!devices->injection[0]) find_injection(devices, root);
    describe(found, sizeof found, &facts, devices);
    judge(way, &facts, devices, found);
}

/* devices_cuda.c - whether the injected CUDA tracer works: driver, libcuda, libcupti, our library, permissions
 *
 * libcuda and libcupti are loaded, so that what is told is what a traced program finds; nothing of them is started.
 * A program may bring its own CUPTI (PyTorch's wheels do), so none here is no obstacle in itself.
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

#include "devices/devices_impl.h"

typedef struct cuda_facts {
    char libcuda[DEVICES_PATH_BYTES / 4]; /* path, "": not found */
    char libcupti[DEVICES_PATH_BYTES / 4];
    int cupti_major; /* of its name, 13; 0: none */
    uint32_t cupti;  /* what cuptiGetVersion says; 0: it was not asked */
    bool driver;     /* the kernel's part is loaded */
    bool denied;     /* /dev/nvidiactl is not for us */
    bool admin_only; /* RmProfilingAdminOnly */
} cuda_facts;

/* ---- libraries
 * ------------------------------------------------------------------------------------------------------- */

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

/* The environment's own folders, where PyTorch's wheels put NVIDIA's libraries. Writes into `out`, "" for none. */
static void environment_folder(char *out, size_t size, const char *variable, const char *below)
{
    const char *folder = getenv(variable);
    out[0] = '\0';
    if (folder && folder[0] == '/' && (size_t)snprintf(out, size, "%s/%s", folder, below) >= size) out[0] = '\0';
}

static void find_libcupti(cuda_facts *facts, const char *root)
{
    char home[2][PATH_MAX], environments[2][PATH_MAX];
    environment_folder(home[0], sizeof home[0], "CUDA_HOME", "extras/CUPTI/lib64");
    environment_folder(home[1], sizeof home[1], "CUDA_PATH", "extras/CUPTI/lib64");
    environment_folder(environments[0], sizeof environments[0], "VIRTUAL_ENV",
                       "lib/python3*/site-packages/nvidia/c*/lib");
    environment_folder(environments[1], sizeof environments[1], "CONDA_PREFIX",
                       "lib/python3*/site-packages/nvidia/c*/lib");
    const char *folders[16];
    size_t count = 0;
    for (int i = 0; i < 2 && !root[0]; i++)
        if (home[i][0]) folders[count++] = home[i];
    static const char *const usual[] = {"/usr/local/cuda*/extras/CUPTI/lib64", "/usr/local/cuda*/lib64",
                                        "/usr/local/cuda*/targets/*/lib",      "/usr/local/cuda*/lib",
                                        "/usr/lib/x86_64-linux-gnu",           "/usr/lib/aarch64-linux-gnu",
                                        "/opt/cuda/extras/CUPTI/lib64"};
    for (size_t i = 0; i < sizeof usual / sizeof *usual; i++) folders[count++] = usual[i];
    for (int i = 0; i < 2 && !root[0]; i++)
        if (environments[i][0]) folders[count++] = environments[i];
    folders[count++] = "/usr/local/lib/python3*/*-packages/nvidia/c*/lib";
    folders[count] = NULL;
    for (int major = 13; major >= 11; major--) {
        char name[32];
        void *library = NULL;
        int (*version)(uint32_t *) = NULL;
        snprintf(name, sizeof name, "libcupti.so.%d", major);
        if (!load_somewhere(&library, facts->libcupti, sizeof facts->libcupti, root, name, folders)) continue;
        facts->cupti_major = major;
        void *symbol = library ? dlsym(library, "cuptiGetVersion") : NULL;
        if (symbol) memcpy(&version, &symbol, sizeof version);
        if (version && version(&facts->cupti) != 0) facts->cupti = 0;
        if (library) dlclose(library);
        return;
    }
    facts->libcupti[0] = '\0';
}

/* ---- driver
 * ---------------------------------------------------------------------------------------------------------- */

static bool admin_only(const char *root)
{
    char path[DEVICES_PATH_BYTES], line[256];
    bool found = false;
    FILE *file = devices_path(path, sizeof path, root, "/proc/driver/nvidia/params") ? fopen(path, "re") : NULL;
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

/* ---- told
 * ------------------------------------------------------------------------------------------------------------ */

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
                    "Install heddle with its library, or build it on Linux: libheddle-cuda.so is looked for beside "
                    "heddle and in the lib folder next to it.",
                    "libheddle-cuda.so is missing: %s", found);
    else if (facts->cupti_major && newest && facts->cupti_major > newest)
        devices_say(
            way, HD_WAY_PARTLY,
            "Update the driver, or install the CUPTI of its CUDA version; a program that brings its own CUPTI is "
            "captured with that.",
            "CUPTI is newer than the driver: %s", found);
    else if (!facts->libcupti[0])
        devices_say(way, HD_WAY_PARTLY,
                    "Install CUPTI (cuda-cupti of NVIDIA's package source, or pip install nvidia-cuda-cupti).",
                    "only programs that bring their own CUPTI, as PyTorch does: %s", found);
    else
        devices_say(way, HD_WAY_WORKS,
                    facts->admin_only ? "Metrics of the GPU's counters need root here (RmProfilingAdminOnly is 1); "
                                        "traces do not."
                                      : "",
                    "%s", found);
}

void devices_way_cuda(hd_way *way, hd_devices *devices, const char *root)
{
    cuda_facts facts = {0};
    char found[HD_WAY_TEXT_BYTES - 64];
    find_driver(&facts, devices, root);
    find_libcuda(&facts, root);
    find_libcupti(&facts, root);
    if (!hd_devices_library(devices->injection, sizeof devices->injection, "libheddle-cuda.so"))
        devices->injection[0] = '\0';
    describe(found, sizeof found, &facts, devices);
    judge(way, &facts, devices, found);
}

/* mpi.c - which MPI started this process, its plugin, and messages of any size */
#include <dlfcn.h>
#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/error.h"
#include "base/options.h"
#include "heddle/capture/devices.h"
#include "mpi/impl.h"
#include "mpi/plugin.h"

enum { PIECE_BYTES = 64 << 20 }; /* of a message; its length goes before, in a message of its own */

static const char *const plugin_names[] = {
    [HD_MPI_OPENMPI] = "heddle-mpi-openmpi.so",
    [HD_MPI_MPICH] = "heddle-mpi-mpich.so",
};
static const char *const mpi_names[] = {[HD_MPI_OPENMPI] = "Open MPI", [HD_MPI_MPICH] = "MPICH"};

/* Open MPI's launcher is checked first: it also sets the variables of others. PMIX_RANK alone is a launcher of the
 * system (srun --mpi=pmix), which uses Open MPI's own protocol. */
static hd_mpi_kind kind_of_launcher(void)
{
    static const struct {
        const char *name;
        hd_mpi_kind kind;
    } names[] = {
        {"OMPI_COMM_WORLD_SIZE", HD_MPI_OPENMPI}, {"PMI_SIZE", HD_MPI_MPICH},    {"PMI_RANK", HD_MPI_MPICH},
        {"MPI_LOCALNRANKS", HD_MPI_MPICH},        {"PMIX_RANK", HD_MPI_OPENMPI},
    };
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (getenv(names[i].name)) return names[i].kind;
    return HD_MPI_NONE;
}

/* Several processes that do not find each other would each do all the work. */
static hd_status check_alone(hd_mpi_kind kind, hd_error *err)
{
    static const char *const sizes[] = {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_STEP_NUM_TASKS"};
    const char *size = NULL;
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0] && !size; i++) size = getenv(sizes[i]);
    if (!size || strcmp(size, "1") == 0) return HD_OK;
    return hd_error_set(
        err, HD_ERR_UNSUPPORTED, NULL, HD_OFFSET_NONE,
        "%.20s processes were started, but not as those of %s: choose the launcher's MPI, or none (srun "
        "has --mpi=pmix for Open MPI, --mpi=pmi2 for MPICH)",
        size, kind == HD_MPI_NONE ? "an MPI" : mpi_names[kind]);
}

/* RTLD_GLOBAL: Open MPI's components look for its symbols. Never unloaded: MPI's threads and handlers stay. */
static hd_status load_plugin(const hd_mpi_plugin **out, hd_mpi_kind kind, hd_error *err)
{
    char path[PATH_MAX];
    if (!hd_devices_library(path, sizeof path, plugin_names[kind]))
        return hd_error_set(err, HD_ERR_UNSUPPORTED, NULL, HD_OFFSET_NONE,
                            "there is no %s next to heddle or in ../lib/heddle: install Heddle built with %s "
                            "(-Dmpi=enabled), or run as one process (--mpi none)",
                            plugin_names[kind], mpi_names[kind]);
    void *library = dlopen(path, RTLD_NOW | RTLD_GLOBAL);
    if (!library)
        return hd_error_set(err, HD_ERR_UNSUPPORTED, path, HD_OFFSET_NONE, "does not load, install %s: %.150s",
                            mpi_names[kind], dlerror());
    *out = dlsym(library, HD_MPI_PLUGIN);
    if (*out && (*out)->abi_version == HD_MPI_PLUGIN_ABI) return HD_OK;
    return hd_error_set(err, HD_ERR_UNSUPPORTED, path, HD_OFFSET_NONE, "is of another release of Heddle");
}

static hd_status join(hd_mpi *mpi, hd_mpi_kind kind, hd_error *err)
{
    static bool joined;
    if (joined) return hd_error_set(err, HD_ERR_ARGUMENT, NULL, HD_OFFSET_NONE, "a process joins an MPI job once");
    HD_TRY(load_plugin(&mpi->plugin, kind, err));
    HD_TRY(mpi_witness_start(&mpi->witness, err)); /* before MPI has threads */
    int problem = mpi->plugin->init();
    if (problem) mpi_witness_dismiss(&mpi->witness, false);
    if (problem)
        return hd_error_set(err, HD_ERR_IO, NULL, HD_OFFSET_NONE, "%s does not start: its error %d", mpi_names[kind],
                            problem);
    joined = true;
    mpi->rank = mpi->plugin->rank();
    mpi->size = mpi->plugin->size();
    mpi_witness_tell(&mpi->witness, mpi->rank, mpi->size, NULL);
    if (mpi->size > 1 || check_alone(kind, err) == HD_OK) return HD_OK;
    mpi_witness_dismiss(&mpi->witness, false);
    mpi->plugin->finalize();
    return HD_ERR_UNSUPPORTED;
}

hd_status hd_mpi_open(hd_mpi **out, hd_mpi_kind kind, hd_error *err)
{
    hd_mpi mpi = {.size = 1};
    *out = NULL;
    if (kind < HD_MPI_AUTO || kind > HD_MPI_NONE)
        return hd_error_set(err, HD_ERR_ARGUMENT, NULL, HD_OFFSET_NONE, "there is no MPI %d", (int)kind);
    if (kind == HD_MPI_AUTO && (kind = kind_of_launcher()) == HD_MPI_NONE) HD_TRY(check_alone(kind, err));
    if (kind != HD_MPI_NONE) HD_TRY(join(&mpi, kind, err));
    *out = malloc(sizeof **out);
    if (!*out) return HD_NOMEM(err);
    **out = mpi;
    return HD_OK;
}

int hd_mpi_rank(const hd_mpi *mpi)
{
    return mpi->rank;
}

int hd_mpi_size(const hd_mpi *mpi)
{
    return mpi->size;
}

static hd_status check_peer(const hd_mpi *mpi, int peer, hd_error *err)
{
    if (peer >= 0 && peer < mpi->size && peer != mpi->rank) return HD_OK;
    return hd_error_set(err, HD_ERR_ARGUMENT, NULL, HD_OFFSET_NONE, "process %d of %d has no peer %d", mpi->rank,
                        mpi->size, peer);
}

static hd_status check_call(const hd_mpi *mpi, int problem, const char *what, int peer, hd_error *err)
{
    if (!problem) return HD_OK;
    return hd_error_set(err, HD_ERR_IO, NULL, HD_OFFSET_NONE, "process %d of %d cannot %s process %d: error %d of MPI",
                        mpi->rank, mpi->size, what, peer, problem);
}

static int piece(size_t left)
{
    return (int)(left < PIECE_BYTES ? left : PIECE_BYTES);
}

hd_status hd_mpi_send(hd_mpi *mpi, const void *bytes, size_t size, int to, hd_error *err)
{
    uint64_t length = size;
    HD_TRY(check_peer(mpi, to, err));
    int problem = mpi->plugin->send(&length, sizeof length, to);
    for (size_t at = 0; !problem && at < size; at += PIECE_BYTES)
        problem = mpi->plugin->send((const char *)bytes + at, piece(size - at), to);
    return check_call(mpi, problem, "send to", to, err);
}

static bool is_there(hd_mpi *mpi, int *from, int *problem)
{
    int there = 0;
    *problem = mpi->plugin->probe(from, &there);
    return there || *problem;
}

/* Waits for a message of *from. MPI polls without pause, which would take the core from working threads. */
static int await(hd_mpi *mpi, int *from)
{
    const struct timespec pause = {.tv_nsec = 500000};
    int problem;
    for (int i = 0; !is_there(mpi, from, &problem); i++)
        if (i > 100) nanosleep(&pause, NULL);
    return problem;
}

hd_status hd_mpi_receive(void **out, size_t *out_size, hd_mpi *mpi, int from, hd_error *err)
{
    uint64_t length = 0;
    *out = NULL;
    *out_size = 0;
    HD_TRY(check_peer(mpi, from, err));
    HD_TRY(check_call(mpi, await(mpi, &from), "wait for", from, err));
    HD_TRY(check_call(mpi, mpi->plugin->receive(&length, sizeof length, from), "receive from", from, err));
    if (length == 0) return HD_OK;
    char *bytes = length <= PTRDIFF_MAX ? malloc((size_t)length) : NULL;
    if (!bytes) return HD_NOMEM(err);
    int problem = 0;
    for (size_t at = 0; !problem && at < length; at += PIECE_BYTES)
        problem = mpi->plugin->receive(bytes + at, piece((size_t)length - at), from);
    if (problem) {
        free(bytes);
        return check_call(mpi, problem, "receive from", from, err);
    }
    *out = bytes;
    *out_size = (size_t)length;
    return HD_OK;
}

hd_status hd_mpi_reduce(hd_mpi *mpi, const hd_mpi_reduction *reduction, hd_error *err)
{
    HD_OWN_OPTIONS(hd_mpi_reduction, reduction, err);
    for (int step = 1; step < mpi->size; step *= 2) {
        if (mpi->rank & step) {
            const void *own;
            size_t own_size;
            HD_TRY(reduction->take(&own, &own_size, reduction->context, err));
            return hd_mpi_send(mpi, own, own_size, mpi->rank - step, err);
        }
        if (mpi->rank + step >= mpi->size) continue;
        void *bytes;
        size_t size;
        HD_TRY(hd_mpi_receive(&bytes, &size, mpi, mpi->rank + step, err));
        hd_status status = reduction->merge(reduction->context, bytes, size, err);
        free(bytes);
        HD_TRY(status);
    }
    return HD_OK;
}

hd_status hd_mpi_broadcast(void **out, size_t *out_size, hd_mpi *mpi, const void *bytes, size_t size, hd_error *err)
{
    int step = 1; /* the lowest bit of the rank; of process 0, above all ranks */
    while (step < mpi->size && !(mpi->rank & step)) step *= 2;
    *out = NULL;
    *out_size = 0;
    if (mpi->rank) HD_TRY(hd_mpi_receive(out, out_size, mpi, mpi->rank - step, err));
    if (!mpi->rank && size) {
        *out = malloc(size);
        if (!*out) return HD_NOMEM(err);
        memcpy(*out, bytes, size);
        *out_size = size;
    }
    hd_status status = HD_OK;
    while (status == HD_OK && (step /= 2) > 0)
        if (mpi->rank + step < mpi->size) status = hd_mpi_send(mpi, *out, *out_size, mpi->rank + step, err);
    if (status == HD_OK) return HD_OK;
    free(*out);
    *out = NULL;
    return status;
}

static hd_status take_nothing(const void **out, size_t *out_size, void *context, hd_error *err)
{
    (void)context, (void)err;
    *out = NULL;
    *out_size = 0;
    return HD_OK;
}

static hd_status merge_nothing(void *context, const void *bytes, size_t size, hd_error *err)
{
    (void)context, (void)bytes, (void)size, (void)err;
    return HD_OK;
}

hd_status hd_mpi_barrier(hd_mpi *mpi, hd_error *err)
{
    void *nothing;
    size_t size;
    HD_TRY(hd_mpi_reduce(mpi, &(hd_mpi_reduction){.take = take_nothing, .merge = merge_nothing}, err));
    return hd_mpi_broadcast(&nothing, &size, mpi, NULL, 0, err);
}

/* Waits until the launcher has read this process's output: MPICH's discards the rest when a process aborts. At most a
 * second, since it may have stopped reading. */
static void await_launcher(int file)
{
    const struct timespec pause = {.tv_nsec = 500000};
    struct stat about;
    if (fstat(file, &about) != 0 || !S_ISFIFO(about.st_mode)) return;
    for (int i = 0, left; i < 2000 && ioctl(file, FIONREAD, &left) == 0 && left > 0; i++) nanosleep(&pause, NULL);
}

void hd_mpi_abort(hd_mpi *mpi)
{
    if (!mpi->plugin) return;
    mpi_witness_dismiss(&mpi->witness, true);
    await_launcher(STDERR_FILENO);
    mpi->plugin->abort();
}

void hd_mpi_close(hd_mpi *mpi)
{
    hd_error err;
    if (!mpi) return;
    if (mpi->plugin) {
        hd_mpi_barrier(mpi, &err);
        mpi_witness_dismiss(&mpi->witness, false);
        mpi->plugin->finalize();
    }
    free(mpi);
}

/* mpi.h - the processes of one MPI job, and bytes among them. Linux
 *
 *     hd_mpi *job;
 *     HD_TRY(hd_mpi_open(&job, HD_MPI_AUTO, err));
 *     HD_TRY(hd_mpi_share(job, &(hd_mpi_work){.count = 8, .work = read_file, .name = file_name, .context = &c}, err));
 *     HD_TRY(hd_mpi_reduce(job, &(hd_mpi_reduction){.take = take, .merge = merge, .context = &c}, err));
 *     hd_mpi_close(job);                  process 0 has the data of all
 *
 * After an error print the reason and call hd_mpi_abort(), or the other processes wait for ever. A watchdog process on
 * each host reports a process that dies silently, with its current item (hd_mpi_work.name), on standard error. Until
 * hd_mpi_close(), SIGTERM is handled here first and then by the program's handler: an end by the launcher's SIGTERM is
 * not reported as a death.
 *
 * Open MPI and MPICH differ in their binary interface, and no library of Heddle's is linked with either: plugins
 * heddle-mpi-openmpi.so and heddle-mpi-mpich.so are loaded at run time, from where hd_devices_library() looks.
 *
 * One job a process, opened and closed once, as MPI allows; all calls from the thread that opened it.
 */
#ifndef HEDDLE_MPI_H
#define HEDDLE_MPI_H

#include <stddef.h>

#include "heddle/status.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum hd_mpi_kind {
    HD_MPI_AUTO, /* by the launcher's environment: OMPI_COMM_WORLD_SIZE: Open MPI; PMI_SIZE, PMI_RANK or
                    MPI_LOCALNRANKS: MPICH; PMIX_RANK alone: Open MPI; otherwise NONE */
    HD_MPI_OPENMPI,
    HD_MPI_MPICH, /* and MPIs with its binary interface */
    HD_MPI_NONE,  /* a single process, however it was started */
} hd_mpi_kind;

typedef struct hd_mpi hd_mpi;

/* Join the job. Every process of the job must call this. Close it with hd_mpi_close(). Errors: ARGUMENT: no such kind,
 * or opened twice; UNSUPPORTED: the plugin, or the MPI it needs, is not installed (the message says what to install),
 * or a launcher of another MPI, or of none, started several processes. IO: MPI does not start. */
hd_status hd_mpi_open(hd_mpi **out, hd_mpi_kind kind, hd_error *err);

/* The index of this process: 0 to size - 1. A single process is 0 of 1. */
int hd_mpi_rank(const hd_mpi *mpi);
int hd_mpi_size(const hd_mpi *mpi);

/* Send bytes of any size to another process, which receives them with one call. May wait for that call. Errors:
 * ARGUMENT: no such process, or this one; IO. */
hd_status hd_mpi_send(hd_mpi *mpi, const void *bytes, size_t size, int to, hd_error *err);

/* Receive the next bytes that `from` sends. Release it with free(); NULL if it is empty. Errors: as sending, and
 * MEMORY, after which `from` waits for ever: abort. */
hd_status hd_mpi_receive(void **out, size_t *out_size, hd_mpi *mpi, int from, hd_error *err);

/* The callbacks of hd_mpi_reduce(). */
typedef struct hd_mpi_reduction {
    size_t size; /* of this struct; see "Options" in status.h */
    hd_status (*take)(const void **out, size_t *out_size, void *context,
                      hd_error *err); /* borrowed: the data of this process as bytes */
    hd_status (*merge)(void *context, const void *bytes, size_t size,
                       hd_error *err); /* merge the data of another process into that of this one */
    void *context;
} hd_mpi_reduction;

/* A binomial tree: after ceil(log2(size)) levels process 0 has merged all data; each process merges data of higher
 * ranks, the lowest first, and sends once. All processes must call it. Errors: those of the functions, and of sending
 * and receiving; then the other processes wait for ever: abort. */
hd_status hd_mpi_reduce(hd_mpi *mpi, const hd_mpi_reduction *reduction, hd_error *err);

/* Send bytes of process 0 to all, which get them as from hd_mpi_receive(); process 0 gets a copy. All processes must
 * call it; the bytes that other processes pass are ignored. Errors: IO, MEMORY. */
hd_status hd_mpi_broadcast(void **out, size_t *out_size, hd_mpi *mpi, const void *bytes, size_t size, hd_error *err);

/* Wait for all processes, without using a core. Errors: IO. */
hd_status hd_mpi_barrier(hd_mpi *mpi, hd_error *err);

/* The callbacks of hd_mpi_share(). */
typedef struct hd_mpi_work {
    size_t size;  /* of this struct; see "Options" in status.h */
    size_t count; /* of items */
    hd_status (*work)(void *context, size_t item, hd_error *err);
    const char *(*name)(void *context,
                        size_t item); /* of a file; reported with the death of this process. NULL: items have no names
                                         */
    void *context;
    unsigned threads; /* that call `work` if there is only one process; 0: one per core */
    void (*done)(void *context,
                 size_t item); /* in process 0, from any of its threads: a process has finished the item. NULL: not
                                  reported */
} hd_mpi_work;

/* Process all items, each in one process: process 0 hands them out in order to whichever process is idle first, so put
 * the largest first. All processes must call it with the same count. Process 0 itself works in a second thread, a
 * single process in several. Errors: the first of `work`, IO, MEMORY. */
hd_status hd_mpi_share(hd_mpi *mpi, const hd_mpi_work *work, hd_error *err);

/* End all processes of the job with a nonzero status. Print the reason before. With a single process it does
 * nothing. */
void hd_mpi_abort(hd_mpi *mpi);

/* Leave the job: waits until all processes do. NULL is fine. */
void hd_mpi_close(hd_mpi *mpi);

#ifdef __cplusplus
}
#endif

#endif

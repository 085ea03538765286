/* mpi.h - the processes of one MPI job, and bytes among them. Linux
 *
 *     hd_mpi *job;
 *     HD_TRY(hd_mpi_open(&job, HD_MPI_AUTO, err));
 *     HD_TRY(hd_mpi_share(job, &(hd_mpi_work){.count = 8, .work = read_file, .name = file_name, .context = &c}, err));
 *     HD_TRY(hd_mpi_reduce(job, &(hd_mpi_reduction){.take = take, .merge = merge, .context = &c}, err));
 *     hd_mpi_close(job);                  process 0 has what all had
 *
 * After an error say why, and hd_mpi_abort(), or the others wait for ever. A process that dies without a word is named
 * on standard error with what it was at (hd_mpi_work.name), by a witness, which is a process of each host. SIGTERM is
 * handled until it is closed, before the handler of the program, which gets it then: one of the launcher's is no such
 * death.
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
    HD_MPI_AUTO, /* by the launcher's environment: OMPI_COMM_WORLD_SIZE is Open MPI; PMI_SIZE, PMI_RANK or
                  * MPI_LOCALNRANKS is MPICH; PMIX_RANK alone is Open MPI; otherwise NONE */
    HD_MPI_OPENMPI,
    HD_MPI_MPICH, /* and what has its binary interface */
    HD_MPI_NONE,  /* one process, whatever started it */
} hd_mpi_kind;

typedef struct hd_mpi hd_mpi;

/* Join the job. All its processes must. Close it with hd_mpi_close(). Errors: ARGUMENT: no such kind, or opened twice;
 * UNSUPPORTED: the plugin, or the MPI it needs, is not installed, with what to install; or a launcher of another MPI,
 * or of none, started several processes. IO: MPI does not start. */
hd_status hd_mpi_open(hd_mpi **out, hd_mpi_kind kind, hd_error *err);

/* This process among all: 0 to size - 1. One process alone is 0 of 1. */
int hd_mpi_rank(const hd_mpi *mpi);
int hd_mpi_size(const hd_mpi *mpi);

/* Send bytes of any number to another process, which receives them with one call. May wait until it does.
 * Errors: ARGUMENT: no such process, or this one; IO. */
hd_status hd_mpi_send(hd_mpi *mpi, const void *bytes, size_t size, int to, hd_error *err);

/* What `from` sends next. Release it with free(); NULL if it is empty. Errors: as sending, and MEMORY, after which that
 * process waits for ever: abort. */
hd_status hd_mpi_receive(void **out, size_t *out_size, hd_mpi *mpi, int from, hd_error *err);

/* What hd_mpi_reduce() asks of its caller. */
typedef struct hd_mpi_reduction {
    size_t size; /* of this struct; see "Options" in status.h */
    hd_status (*take)(const void **out, size_t *out_size, void *context,
                      hd_error *err); /* borrowed: what is here as bytes */
    hd_status (*merge)(void *context, const void *bytes, size_t size,
                       hd_error *err); /* add another's to what is here */
    void *context;
} hd_mpi_reduction;

/* A binomial tree: after ceil(log2(size)) levels process 0 has merged what all had; each process merges that of higher
 * ranks than its own, the lowest first, and sends once. All processes must call it. Errors: those of the functions,
 * and of sending and receiving; then the others wait for ever: abort. */
hd_status hd_mpi_reduce(hd_mpi *mpi, const hd_mpi_reduction *reduction, hd_error *err);

/* Bytes of process 0 to all, which get them as of hd_mpi_receive(); to process 0, a copy. All processes must call it;
 * what others than process 0 pass is not looked at. Errors: IO, MEMORY. */
hd_status hd_mpi_broadcast(void **out, size_t *out_size, hd_mpi *mpi, const void *bytes, size_t size, hd_error *err);

/* Wait for all processes, without using a core. Errors: IO. */
hd_status hd_mpi_barrier(hd_mpi *mpi, hd_error *err);

/* What hd_mpi_share() asks of its caller. */
typedef struct hd_mpi_work {
    size_t size;  /* of this struct; see "Options" in status.h */
    size_t count; /* of items */
    hd_status (*work)(void *context, size_t item, hd_error *err);
    const char *(*name)(void *context,
                        size_t item); /* of a file: said with this process's death. NULL: items have none */
    void *context;
    unsigned threads; /* in which one process alone calls `work`; 0: one per core */
    void (*done)(void *context,
                 size_t item); /* in process 0, from any of its threads: a process has done it. NULL: not reported */
} hd_mpi_work;

/* Do all items, each in one process: process 0 gives them out in their order, each to the process that asks first, so
 * that the largest should be first. All processes must call it with the same count. Process 0 works in a second thread
 * meanwhile, one process alone in several. Errors: the first of `work`, IO, MEMORY. */
hd_status hd_mpi_share(hd_mpi *mpi, const hd_mpi_work *work, hd_error *err);

/* End all processes of the job with a status that is not 0. Say why before. Of one process alone it does nothing. */
void hd_mpi_abort(hd_mpi *mpi);

/* Leave the job: waits until all do. NULL is fine. */
void hd_mpi_close(hd_mpi *mpi);

#ifdef __cplusplus
}
#endif

#endif

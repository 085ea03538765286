/* impl.h - a job's handle, and its watchdog (mpi_witness)
 *
 * In: a process of an MPI job. Out: messages of any size, distributed items. Begin with mpi.c.
 */
#ifndef HD_MPI_IMPL_H
#define HD_MPI_IMPL_H

#include <stdbool.h>

#include "heddle/capture/mpi.h"
#include "mpi/plugin.h"

/* ---- witness.c ---- */

typedef struct mpi_witness {
    int socket; /* to it */
    bool is_there;
} mpi_witness;

/* Forks the watchdog, if this host has none yet. Must be called while the process has one thread. */
hd_status mpi_witness_start(mpi_witness *out, hd_error *err);
/* Sets the process's current item; NULL: none. Any thread. */
void mpi_witness_tell(const mpi_witness *witness, int rank, int size, const char *at);
/* The process ends without a report. told: this process has printed its reason, so the watchdog does not report
 * processes that the launcher then ends. */
void mpi_witness_dismiss(mpi_witness *witness, bool told);

/* ---- mpi.c ---- */

struct hd_mpi {
    const hd_mpi_plugin *plugin; /* NULL: one process */
    int rank, size;
    mpi_witness witness;
};

#endif

/* impl.h - a job's handle, and its witness
 *
 * In: a process of an MPI job. Out: messages of any size, items shared out. Begin with mpi.c.
 */
#ifndef HD_MPI_IMPL_H
#define HD_MPI_IMPL_H

#include <stdbool.h>

#include "heddle/mpi.h"
#include "mpi/plugin.h"

/* ---- witness.c ---- */

typedef struct mpi_witness {
    int socket; /* to it */
    bool is_there;
} mpi_witness;

/* Fork it, if this host has none yet. It must be done while the process has one thread. */
hd_status mpi_witness_start(mpi_witness *out, hd_error *err);
/* What the process is at from now on; NULL: nothing. Any thread. */
void mpi_witness_tell(const mpi_witness *witness, int rank, int size, const char *at);
/* It ends, and stays silent. told: this process has said why it ends, so that the witness does not speak of those
 * that the launcher ends with it. */
void mpi_witness_dismiss(mpi_witness *witness, bool told);

/* ---- mpi.c ---- */

struct hd_mpi {
    const hd_mpi_plugin *plugin; /* NULL: one process */
    int rank, size;
    mpi_witness witness;
};

#endif

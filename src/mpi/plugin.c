/* plugin.c - MPI's functions as an hd_mpi_plugin */
#include <mpi.h>
#include <stddef.h>

#include "mpi/plugin.h"

static int init(void)
{
    int have = 0;
    int problem = MPI_Init_thread(NULL, NULL, MPI_THREAD_FUNNELED, &have);
    if (problem) return problem;
    if (have < MPI_THREAD_FUNNELED) return MPI_ERR_OTHER;
    return MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
}

static int rank(void)
{
    int out = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &out);
    return out;
}

static int size(void)
{
    int out = 1;
    MPI_Comm_size(MPI_COMM_WORLD, &out);
    return out;
}

static int send_bytes(const void *bytes, int count, int to)
{
    return MPI_Send(bytes, count, MPI_BYTE, to, 0, MPI_COMM_WORLD);
}

static int receive_bytes(void *bytes, int count, int from)
{
    MPI_Status status;
    int got = 0;
    int problem = MPI_Recv(bytes, count, MPI_BYTE, from, 0, MPI_COMM_WORLD, &status);
    if (!problem) problem = MPI_Get_count(&status, MPI_BYTE, &got);
    return problem || got == count ? problem : MPI_ERR_COUNT;
}

static int probe(int *from, int *there)
{
    MPI_Status status;
    int problem = MPI_Iprobe(*from < 0 ? MPI_ANY_SOURCE : *from, 0, MPI_COMM_WORLD, there, &status);
    if (!problem && *there) *from = status.MPI_SOURCE;
    return problem;
}

static void abort_job(void)
{
    MPI_Abort(MPI_COMM_WORLD, 1);
}

static void finalize(void)
{
    MPI_Finalize();
}

extern const hd_mpi_plugin hd_mpi_plugin_functions;
const hd_mpi_plugin hd_mpi_plugin_functions = {
    HD_MPI_PLUGIN_ABI, init, rank, size, send_bytes, receive_bytes, probe, abort_job, finalize,
};

/* plugin.h - the interface between mpi.c and the plugin of an MPI; plugin.c is compiled once with each MPI */
#ifndef HD_MPI_PLUGIN_H
#define HD_MPI_PLUGIN_H

#define HD_MPI_PLUGIN "hd_mpi_plugin_functions" /* the one symbol of a plugin: an hd_mpi_plugin */
enum { HD_MPI_PLUGIN_ABI = 1 };

/* MPI counts in int, which limits messages. Functions return 0, or MPI's error. */
typedef struct hd_mpi_plugin {
    int abi_version; /* HD_MPI_PLUGIN_ABI; first in all versions */
    int (*init)(void);
    int (*rank)(void);
    int (*size)(void);
    int (*send)(const void *bytes, int size, int to);
    int (*receive)(void *bytes, int size, int from); /* exactly so many */
    int (*probe)(int *from,
                 int *there); /* is a message there, of *from, or of any if that is -1: it becomes the sender */
    void (*abort)(void);
    void (*finalize)(void);
} hd_mpi_plugin;

#endif

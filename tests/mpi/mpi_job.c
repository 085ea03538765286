/* mpi_job.c - a process of an MPI job, which check_mpi.py starts
 *
 *   mpi_job KIND list          each process has a line; process 0 prints all, merged by a tree
 *   mpi_job KIND long BYTES    the last process sends so many to process 0, which looks at each
 *   mpi_job KIND share COUNT FOLDER
 *                              so many items are given out; process 0 prints how often each was done, and by how many.
 *                              Where there are as many as processes, the first of each waits until all have one
 *   mpi_job KIND all BYTES     process 0 sends so many to all; each looks at its own
 *   mpi_job KIND kill RANK FOLDER
 *                              when all processes have an item, that one writes its own to FOLDER/died and dies by a
 *                              signal, the others wait
 *   mpi_job KIND abort RANK    that process says why at length and aborts, the others wait for it
 */
#include <inttypes.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "heddle/capture/mpi.h"

typedef struct text {
    char *bytes;
    size_t size;
} text;

static hd_status take(const void **out, size_t *out_size, void *context, hd_error *err)
{
    const text *t = context;
    (void)err;
    *out = t->bytes;
    *out_size = t->size;
    return HD_OK;
}

static hd_status merge(void *context, const void *bytes, size_t size, hd_error *err)
{
    text *t = context;
    char *grown = realloc(t->bytes, t->size + size + 1);
    if (!grown) return hd_error_set(err, HD_ERR_MEMORY, NULL, HD_OFFSET_NONE, "out of memory");
    if (size) memcpy(grown + t->size, bytes, size);
    t->bytes = grown;
    t->size += size;
    return HD_OK;
}

/* Every third process has nothing, so that empty messages are sent too. */
static hd_status list(hd_mpi *job, hd_error *err)
{
    char line[64];
    int length = snprintf(line, sizeof line, "process %d of %d\n", hd_mpi_rank(job), hd_mpi_size(job));
    text all = {0};
    hd_status status = hd_mpi_rank(job) % 3 == 2 ? HD_OK : merge(&all, line, (size_t)length, err);
    if (status == HD_OK)
        status = hd_mpi_reduce(job, &(hd_mpi_reduction){.take = take, .merge = merge, .context = &all}, err);
    if (status == HD_OK) status = hd_mpi_barrier(job, err);
    if (status == HD_OK && hd_mpi_rank(job) == 0) fwrite(all.bytes, 1, all.size, stdout);
    free(all.bytes);
    return status;
}

/* Other bytes in each piece: those of the product depend on 40 bits of `i`. */
static unsigned char byte_at(size_t i)
{
    return (unsigned char)((uint64_t)i * 2654435761u >> 32);
}

static hd_status receive_long(hd_mpi *job, size_t bytes, hd_error *err)
{
    void *got;
    size_t size, wrong = 0;
    hd_status status = hd_mpi_receive(&got, &size, job, hd_mpi_size(job) - 1, err);
    if (status != HD_OK) return status;
    for (size_t i = 0; i < size && i < bytes; i++) wrong += ((unsigned char *)got)[i] != byte_at(i);
    printf("%zu bytes, %zu wrong\n", size, wrong);
    free(got);
    return HD_OK;
}

static hd_status send_long(hd_mpi *job, size_t bytes, hd_error *err)
{
    unsigned char *all = malloc(bytes + 1);
    if (!all) return hd_error_set(err, HD_ERR_MEMORY, NULL, HD_OFFSET_NONE, "out of memory");
    for (size_t i = 0; i < bytes; i++) all[i] = byte_at(i);
    hd_status status = hd_mpi_send(job, all, bytes, 0, err);
    free(all);
    return status;
}

/* ---- items ---- */

typedef struct shared {
    hd_mpi *job;
    int dies;           /* a rank; -1: none */
    const char *folder; /* of a file for each process that has begun; NULL: none waits for another */
    text done;
    atomic_size_t told; /* done items, and the sum of their numbers, each counted from 1 */
    atomic_size_t sum;
} shared;

static const char *name_of(void *context, size_t item)
{
    static _Thread_local char name[32];
    (void)context;
    snprintf(name, sizeof name, "rank%zu.json", item);
    return name;
}

/* Until all processes have begun their first item: a process that is late gets one too. */
static void wait_for_all(const shared *s)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/%d", s->folder, hd_mpi_rank(s->job));
    FILE *own = fopen(path, "w");
    if (own) fclose(own);
    for (int i = 0; i < hd_mpi_size(s->job);) {
        snprintf(path, sizeof path, "%s/%d", s->folder, i);
        if (access(path, F_OK) == 0)
            i++;
        else
            usleep(1000);
    }
}

static void die(const shared *s, size_t item)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/died", s->folder);
    FILE *file = fopen(path, "w");
    if (file) fputs(name_of(NULL, item), file);
    if (file) fclose(file);
    raise(SIGKILL);
}

static hd_status do_item(void *context, size_t item, hd_error *err)
{
    shared *s = context;
    char line[64];
    int rank = hd_mpi_rank(s->job);
    int length = snprintf(line, sizeof line, "%zu %d\n", item, rank);
    if (s->folder && !s->done.size) wait_for_all(s);
    if (rank == s->dies) die(s, item);
    while (s->dies >= 0) pause(); /* the launcher ends it */
    return merge(&s->done, line, (size_t)length, err);
}

static void count_done(void *context, size_t item)
{
    shared *s = context;
    s->told++;
    s->sum += item + 1;
}

static hd_status share(hd_mpi *job, size_t count, int dies, const char *folder, hd_error *err)
{
    shared s = {.job = job, .dies = dies, .folder = count < (size_t)hd_mpi_size(job) ? NULL : folder};
    const hd_mpi_work work = {
        .count = count, .threads = 1, .work = do_item, .name = name_of, .done = count_done, .context = &s};
    hd_status status = hd_mpi_share(job, &work, err);
    bool is_told = s.told == count && s.sum == count * (count + 1) / 2;
    if (status == HD_OK && hd_mpi_rank(job) == 0 && !is_told)
        status =
            hd_error_set(err, HD_ERR_FORMAT, NULL, HD_OFFSET_NONE, "of %zu items %zu are told", count, (size_t)s.told);
    if (status == HD_OK)
        status = hd_mpi_reduce(job, &(hd_mpi_reduction){.take = take, .merge = merge, .context = &s.done}, err);
    if (status == HD_OK && hd_mpi_rank(job) == 0 && s.done.size) fwrite(s.done.bytes, 1, s.done.size, stdout);
    free(s.done.bytes);
    return status;
}

static hd_status to_all(hd_mpi *job, size_t bytes, hd_error *err)
{
    void *got = NULL;
    size_t size, wrong = 0;
    unsigned char *own = malloc(bytes + 1);
    if (!own) return hd_error_set(err, HD_ERR_MEMORY, NULL, HD_OFFSET_NONE, "out of memory");
    for (size_t i = 0; i < bytes; i++) own[i] = byte_at(i);
    hd_status status = hd_mpi_broadcast(&got, &size, job, hd_mpi_rank(job) ? NULL : own, bytes, err);
    if (status == HD_OK && (size != bytes || (size && memcmp(got, own, size) != 0))) wrong = 1;
    free(own);
    free(got);
    if (status == HD_OK && wrong)
        return hd_error_set(err, HD_ERR_IO, NULL, HD_OFFSET_NONE, "got other bytes than process 0 has sent");
    return status == HD_OK ? list(job, err) : status;
}

static hd_status run(hd_mpi *job, const char *what, size_t number, const char *folder, hd_error *err)
{
    int rank = hd_mpi_rank(job);
    if (strcmp(what, "list") == 0) return list(job, err);
    if (strcmp(what, "long") == 0)
        return rank == 0                      ? receive_long(job, number, err)
               : rank == hd_mpi_size(job) - 1 ? send_long(job, number, err)
                                              : HD_OK;
    if (strcmp(what, "share") == 0) return share(job, number, -1, folder, err);
    if (strcmp(what, "all") == 0) return to_all(job, number, err);
    if (strcmp(what, "kill") == 0) return share(job, (size_t)hd_mpi_size(job) * 3, (int)number, folder, err);
    if (rank != (int)number) return hd_mpi_barrier(job, err);
    return hd_error_set(err, HD_ERR_IO, "rank5.json", HD_OFFSET_NONE, "asked to abort");
}

int main(int argc, char **argv)
{
    static const char *const kinds[] = {"auto", "openmpi", "mpich", "none"};
    hd_error err = {0};
    char said[HD_ERROR_TEXT_BYTES];
    hd_mpi *job = NULL;
    int kind = 0;
    if (argc < 3) return 2;
    while (kind < 4 && strcmp(kinds[kind], argv[1]) != 0) kind++;
    hd_status status = hd_mpi_open(&job, (hd_mpi_kind)kind, &err);
    if (status == HD_OK)
        status = run(job, argv[2], argc > 3 ? strtoumax(argv[3], NULL, 10) : 0, argc > 4 ? argv[4] : NULL, &err);
    if (status != HD_OK) {
        enum { LENGTH = 60000 }; /* a pipe holds as much at once */
        fprintf(stderr, "%*sprocess %d: %s\n", job ? LENGTH : 0, "", job ? hd_mpi_rank(job) : -1,
                hd_error_text(said, sizeof said, &err));
        if (job) hd_mpi_abort(job);
        return 1;
    }
    hd_mpi_close(job);
    return 0;
}

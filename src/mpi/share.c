/* share.c - process 0 hands out items to whichever process is idle first
 *
 * MPI may be called from one thread only. So process 0 has two: the caller's answers the other processes, a second one
 * works on items too. Both take them from one counter.
 */
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/error.h"
#include "base/options.h"
#include "base/thread.h"
#include "mpi/impl.h"

typedef struct share {
    hd_mpi *mpi;
    const hd_mpi_work *work;
    atomic_size_t next;     /* of process 0 */
    size_t *given;          /* by process, its current item; count: none */
    atomic_bool is_done;    /* its second thread */
    atomic_bool has_failed; /* a thread of it */
} share;

typedef struct worker {
    share *share;
    hd_status status;
    hd_error err;
} worker;

static void end_item(share *s, size_t item)
{
    if (s->work->done && item < s->work->count) s->work->done(s->work->context, item);
}

static hd_status do_item(share *s, size_t item, hd_error *err)
{
    const hd_mpi *mpi = s->mpi;
    mpi_witness_tell(&mpi->witness, mpi->rank, mpi->size, s->work->name ? s->work->name(s->work->context, item) : NULL);
    hd_status status = s->work->work(s->work->context, item, err);
    mpi_witness_tell(&mpi->witness, mpi->rank, mpi->size, NULL);
    if (!mpi->rank && status == HD_OK) end_item(s, item);
    return status;
}

static void work_here(void *user)
{
    worker *w = user;
    share *s = w->share;
    size_t item;
    while (!atomic_load(&s->has_failed) && (item = atomic_fetch_add(&s->next, 1)) < s->work->count) {
        w->status = do_item(s, item, &w->err);
        if (w->status != HD_OK) atomic_store(&s->has_failed, true);
    }
    atomic_store(&s->is_done, true);
}

static void *work_beside(void *user)
{
    work_here(user);
    return NULL;
}

static hd_status work_alone(share *s, hd_error *err)
{
    worker workers[HD_THREAD_LIMIT] = {0};
    unsigned count = hd_thread_count(s->work->threads, s->work->count);
    for (unsigned i = 0; i < count; i++) workers[i].share = s;
    hd_threads_run(work_here, workers, sizeof *workers, count);
    for (unsigned i = 0; i < count; i++) {
        if (workers[i].status == HD_OK) continue;
        if (err) *err = workers[i].err;
        return workers[i].status;
    }
    return HD_OK;
}

/* Answers a request with the number of an item, if one is left. The requesting process has finished its previous
 * item. */
static hd_status answer(share *s, int from, int *waiting, hd_error *err)
{
    void *nothing;
    size_t size;
    HD_TRY(hd_mpi_receive(&nothing, &size, s->mpi, from, err));
    end_item(s, s->given[from]);
    uint64_t item = atomic_fetch_add(&s->next, 1);
    s->given[from] = item;
    if (item < s->work->count) return hd_mpi_send(s->mpi, &item, sizeof item, from, err);
    ++*waiting;
    return HD_OK;
}

/* Until all others have requested and no item is left, or this process's own work has failed. Only then they get
 * the end message, so that their next message is not taken for a request. */
static hd_status answer_all(share *s, hd_error *err)
{
    const struct timespec pause = {.tv_nsec = 500000};
    uint64_t end = s->work->count;
    for (int waiting = 0; waiting < s->mpi->size - 1;) {
        int from = -1, there = 0;
        if (atomic_load(&s->has_failed)) return HD_OK;
        int problem = s->mpi->plugin->probe(&from, &there);
        if (problem)
            return hd_error_set(err, HD_ERR_IO, NULL, HD_OFFSET_NONE, "process 0 cannot wait: error %d of MPI",
                                problem);
        if (there)
            HD_TRY(answer(s, from, &waiting, err));
        else
            nanosleep(&pause, NULL);
    }
    for (int i = 1; i < s->mpi->size; i++) HD_TRY(hd_mpi_send(s->mpi, &end, sizeof end, i, err));
    return HD_OK;
}

static hd_status give_out(share *s, hd_error *err)
{
    pthread_t thread;
    worker beside = {.share = s};
    hd_error serving = {0};
    s->given = malloc((size_t)s->mpi->size * sizeof *s->given);
    for (int i = 0; s->given && i < s->mpi->size; i++) s->given[i] = s->work->count;
    if (!s->given || hd_thread_start(&thread, work_beside, &beside) != 0) {
        free(s->given);
        return HD_NOMEM(err);
    }
    hd_status status = answer_all(s, &serving);
    if (status != HD_OK) atomic_store(&s->next, s->work->count);
    pthread_join(thread, NULL);
    free(s->given);
    if (beside.status == HD_OK && status == HD_OK) return HD_OK;
    if (err) *err = beside.status != HD_OK ? beside.err : serving;
    return beside.status != HD_OK ? beside.status : status;
}

static hd_status ask(share *s, hd_error *err)
{
    for (;;) {
        void *bytes;
        size_t size;
        uint64_t item = 0;
        HD_TRY(hd_mpi_send(s->mpi, NULL, 0, 0, err));
        HD_TRY(hd_mpi_receive(&bytes, &size, s->mpi, 0, err));
        if (size == sizeof item) memcpy(&item, bytes, size);
        free(bytes);
        if (size != sizeof item || item > s->work->count)
            return hd_error_set(err, HD_ERR_IO, NULL, HD_OFFSET_NONE, "process 0 of the job gives out other items");
        if (item == s->work->count) return HD_OK;
        HD_TRY(do_item(s, (size_t)item, err));
    }
}

hd_status hd_mpi_share(hd_mpi *mpi, const hd_mpi_work *work, hd_error *err)
{
    HD_OWN_OPTIONS(hd_mpi_work, work, err);
    share s = {.mpi = mpi, .work = work};
    if (mpi->rank) return ask(&s, err);
    return mpi->size > 1 ? give_out(&s, err) : work_alone(&s, err);
}

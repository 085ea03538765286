/* job.h - the summaries of a job: making, caching and storing them
 *
 * In: traces and .hds files. Out: members with packed tables. Begin with job.c; summary.c makes the tables of a trace,
 * sums.c those of its kernels and operators, hds.c reads and writes files in the format of docs/formats/hds.md.
 */
#ifndef HD_REPORT_JOB_JOB_H
#define HD_REPORT_JOB_JOB_H

#include <pthread.h>
#include <stdatomic.h>

#include "base/bytes.h"
#include "base/io/compress.h"
#include "heddle/analysis/job.h"

/* A packed table, zstd compressed. size 0: there is none, or it is lost. */
typedef struct job_chunk {
    uint64_t size, plain_size;
    bool is_lost;      /* it was there, and is damaged */
    uint64_t checksum; /* of the compressed bytes */
    uint64_t offset;   /* in the file */
    uint8_t *data;     /* owned; NULL: in the file */
} job_chunk;

typedef struct job_member {
    hd_job_member about; /* its texts are owned */
    uint32_t file;       /* of the job; HD_NONE: all chunks lie in memory */
    uint32_t chunk_count;
    job_chunk *chunks; /* by table of the job */
} job_member;

typedef struct job_file {
    char *path;
    int descriptor; /* -1: opened anew each time, since there are many */
} job_file;

struct hd_job {
    pthread_mutex_t lock; /* for the following members, while they grow */
    char **tables;        /* names: those of hd_job_table_at, then others found in files */
    uint32_t table_count;
    size_t table_capacity;
    job_member *members;
    size_t count, capacity;
    job_file *files;
    uint32_t file_count;
    size_t file_capacity;
    /* JOB_SPARES, NULL: none; making one takes longer than reading a table with it. Any thread takes and puts. */
    _Atomic(hd_decompressor *) *spares;
};

enum { JOB_SPARES = 16 };

void job_member_deinit(job_member *member);
/* Takes the member, also when it fails. */
hd_status job_add_member(hd_job *job, job_member *member, hd_error *err);
/* The number of a table, which is added if it is new; HD_NONE: no memory. */
uint32_t job_table_number(hd_job *job, const char *name, size_t size);
/* The bytes of a chunk that is there, checked. The caller frees *out, unless it is chunk->data. Errors: IO, MEMORY;
 * DAMAGED. */
hd_status job_chunk_read(uint8_t **out, const hd_job *job, const job_member *member, const job_chunk *chunk,
                         hd_error *err);

/* The bytes of a table as hd_table_pack made them, in a buffer that grows; *out_size 0: there is none. Errors: as of
 * hd_job_table. */
hd_status job_packed_table(char **buffer, size_t *capacity, size_t *out_size, const hd_job *job, size_t member,
                           const char *name, hd_error *err);
uint64_t job_table_bytes(const hd_job *job, const char *name); /* unpacked, of all members */
/* The first member of a rank; else the one at this index, whose rank is unknown; else the count of members. */
size_t job_place_of_rank(const hd_job *job, int64_t rank);
/* `err` with the path of its file. */
void job_error_of(hd_error *err, const hd_job *job, size_t member);

/* Called with one table of the summary, which is freed afterwards. */
typedef hd_status job_add_table(void *user, const hd_table *table, hd_error *err);
/* Fills `out` and calls `add` for each table that is not empty; texts of `out` are malloc'ed. */
typedef hd_status job_summarizer(hd_job_member *out, const hd_trace *trace, const char *path, job_add_table *add,
                                 void *user, hd_error *err);
job_summarizer job_summarize;
job_summarizer job_summarize_place; /* the rank and its process groups alone */
/* The data of a trace that hd_job_misfits needs, for a summary that is not written. By one thread. */
hd_status job_add_place(hd_job *job, const hd_trace *trace, const char *path, int64_t rank, hd_error *err);
/* hd_collectives_new of input->trace, with launches where they are there. */
hd_status job_collectives_new(hd_collectives **out, const hd_report_input *input, hd_error *err);
/* By collective, how long its device runs other activities between the end of the previous one there and its start;
 * HD_NO_TIME: it is the first. The caller frees *out, which is NULL after a failure. Errors: MEMORY, LIMIT. busy.c */
hd_status job_busy_before(int64_t **out, const hd_collectives *all, const hd_report_input *input, hd_error *err);
/* The tables `kernels` and `operators`. */
hd_status job_sums(hd_report *out, const hd_report_input *input, hd_error *err);
extern const hd_report_column job_kernel_columns[], job_operator_columns[];

#endif

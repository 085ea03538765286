/* job.c - a job: members made from traces or found in files, in one order */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/memory/vector.h"
#include "base/sorted.h"
#include "base/text/ends.h"
#include "report/gpu/gpu.h"
#include "report/job/job.h"
#include "table/pack.h"

/* ---- made and freed ---- */

hd_status hd_job_new(hd_job **out, hd_error *err)
{
    hd_job *job = *out = calloc(1, sizeof *job);
    if (!job) return HD_NOMEM(err);
    pthread_mutex_init(&job->lock, NULL);
    job->spares = calloc(JOB_SPARES, sizeof *job->spares);
    bool fine = job->spares != NULL;
    for (size_t i = 0; fine && hd_job_table_at(i); i++) {
        const char *name = hd_job_table_at(i)->name;
        fine = job_table_number(job, name, strlen(name)) != HD_NONE;
    }
    if (fine) return HD_OK;
    hd_job_free(job);
    *out = NULL;
    return HD_NOMEM(err);
}

void job_member_deinit(job_member *member)
{
    for (uint32_t i = 0; i < member->chunk_count; i++) free(member->chunks[i].data);
    free(member->chunks);
    free((char *)(uintptr_t)member->about.host.data);
    free((char *)(uintptr_t)member->about.file.data);
}

void hd_job_free(hd_job *job)
{
    if (!job) return;
    for (size_t i = 0; i < job->count; i++) job_member_deinit(&job->members[i]);
    for (uint32_t i = 0; i < job->file_count; i++) {
        if (job->files[i].descriptor >= 0) close(job->files[i].descriptor);
        free(job->files[i].path);
    }
    for (uint32_t i = 0; i < job->table_count; i++) free(job->tables[i]);
    for (int i = 0; job->spares && i < JOB_SPARES; i++) hd_decompressor_free(job->spares[i]);
    pthread_mutex_destroy(&job->lock);
    free(job->members);
    free(job->files);
    free(job->tables);
    free(job->spares);
    free(job);
}

uint32_t job_table_number(hd_job *job, const char *name, size_t size)
{
    for (uint32_t i = 0; i < job->table_count; i++) {
        if (strlen(job->tables[i]) == size && memcmp(job->tables[i], name, size) == 0) return i;
    }
    char *copy = strndup(name, size);
    if (!copy || !hd_grow((void **)&job->tables, &job->table_capacity, job->table_count, sizeof *job->tables)) {
        free(copy);
        return HD_NONE;
    }
    job->tables[job->table_count] = copy;
    return job->table_count++;
}

hd_status job_add_member(hd_job *job, job_member *member, hd_error *err)
{
    if (hd_grow((void **)&job->members, &job->capacity, job->count, sizeof *job->members)) {
        job->members[job->count++] = *member;
        return HD_OK;
    }
    job_member_deinit(member);
    return HD_NOMEM(err);
}

/* ---- of a trace ---- */

typedef struct packer {
    hd_job *job;
    job_member member;
    hd_compressor *compressor;
} packer;

static hd_status pack_table(void *user, const hd_table *table, hd_error *err)
{
    packer *p = user;
    hd_bytes plain = {0}, packed = {0};
    const char *name = hd_table_name(table);
    uint32_t number = 0;
    while (strcmp(hd_job_table_at(number)->name, name) != 0) number++;
    hd_status status = hd_table_pack(&plain, table, err);
    if (status == HD_OK) status = hd_compress(&packed, p->compressor, plain.data, plain.size, err);
    if (status == HD_OK)
        p->member.chunks[number] = (job_chunk){.size = packed.size,
                                               .plain_size = plain.size,
                                               .checksum = hd_checksum(packed.data, packed.size),
                                               .data = packed.data};
    else
        hd_bytes_deinit(&packed);
    hd_bytes_deinit(&plain);
    return status;
}

static hd_status add_trace(hd_job *job, const hd_trace *trace, const char *path, job_summarizer *summarize,
                           hd_error *err)
{
    packer p = {.job = job, .member.file = HD_NONE};
    while (hd_job_table_at(p.member.chunk_count)) p.member.chunk_count++;
    p.member.chunks = calloc(p.member.chunk_count, sizeof *p.member.chunks);
    hd_status status = p.member.chunks ? hd_compressor_new(&p.compressor, 3, err) : HD_NOMEM(err);
    if (!p.member.chunks) p.member.chunk_count = 0;
    if (status == HD_OK) status = summarize(&p.member.about, trace, path, pack_table, &p, err);
    hd_compressor_free(p.compressor);
    if (status != HD_OK) {
        job_member_deinit(&p.member);
        return status;
    }
    pthread_mutex_lock(&job->lock);
    status = job_add_member(job, &p.member, err);
    pthread_mutex_unlock(&job->lock);
    return status;
}

hd_status hd_job_add_trace(hd_job *job, const hd_trace *trace, const char *path, hd_error *err)
{
    return add_trace(job, trace, path, job_summarize, err);
}

hd_status job_add_place(hd_job *job, const hd_trace *trace, const char *path, int64_t rank, hd_error *err)
{
    HD_TRY(add_trace(job, trace, path, job_summarize_place, err));
    job->members[job->count - 1].about.rank = rank;
    return HD_OK;
}

hd_status job_of_input(hd_job **out, const hd_report_input *input, hd_error *err)
{
    *out = NULL;
    if (input->job) return HD_OK;
    HD_TRY(hd_job_new(out, err));
    hd_status status = input->trace ? hd_job_add_trace(*out, input->trace, "", err) : HD_OK;
    if (status == HD_OK) status = hd_job_finish(*out, err);
    if (status == HD_OK) return HD_OK;
    hd_job_free(*out);
    *out = NULL;
    return status;
}

/* ---- order ---- */

static int compare_unsigned(uint64_t x, uint64_t y)
{
    return (x > y) - (x < y);
}

static int compare_texts(hd_string x, hd_string y)
{
    int order = (y.data != NULL) - (x.data != NULL);
    return order ? order : hd_text_compare(x.data, x.size, y.data, y.size);
}

/* Numbers, the unknown last: it is the lowest value, so that subtracting one makes it the highest. */
static int compare_numbers(int64_t x, int64_t y)
{
    return compare_unsigned((uint64_t)x - 1 - (uint64_t)INT64_MIN, (uint64_t)y - 1 - (uint64_t)INT64_MIN);
}

static int compare_chunks(const job_member *x, const job_member *y)
{
    static const job_chunk none;
    uint32_t count = x->chunk_count > y->chunk_count ? x->chunk_count : y->chunk_count;
    for (uint32_t i = 0; i < count; i++) {
        const job_chunk *a = i < x->chunk_count ? &x->chunks[i] : &none;
        const job_chunk *b = i < y->chunk_count ? &y->chunks[i] : &none;
        int order = compare_unsigned(a->is_lost, b->is_lost);
        if (!order) order = compare_unsigned(a->checksum, b->checksum);
        if (!order) order = compare_unsigned(a->size, b->size);
        if (!order) order = compare_unsigned(a->plain_size, b->plain_size);
        if (order) return order;
    }
    return 0;
}

static int compare_members(const job_member *x, const job_member *y)
{
    int order = compare_numbers(x->about.rank, y->about.rank);
    if (!order) order = compare_texts(x->about.host, y->about.host);
    if (!order) order = compare_texts(x->about.file, y->about.file);
    if (!order) order = compare_numbers(x->about.world_size, y->about.world_size);
    if (!order) order = compare_numbers(x->about.base_ns, y->about.base_ns);
    return order ? order : compare_chunks(x, y);
}

hd_status hd_job_finish(hd_job *job, hd_error *err)
{
    job_member *spare = malloc((job->count + 1) * sizeof *spare);
    size_t kept = 0;
    if (!spare) return HD_NOMEM(err);
    if (job->count) HD_SORT_RUNS(job->members, spare, job->count, x, y, compare_members(x, y) < 0);
    free(spare);
    for (size_t i = 0; i < job->count; i++) {
        if (kept && compare_members(&job->members[kept - 1], &job->members[i]) == 0)
            job_member_deinit(&job->members[i]);
        else
            job->members[kept++] = job->members[i];
    }
    job->count = kept;
    return HD_OK;
}

/* ---- looked at ---- */

size_t hd_job_count(const hd_job *job)
{
    return job->count;
}

const hd_job_member *hd_job_at(const hd_job *job, size_t member)
{
    return &job->members[member].about;
}

size_t job_place_of_rank(const hd_job *job, int64_t rank)
{
    size_t first = 0;
    for (size_t end = job->count; first < end;) {
        size_t middle = first + (end - first) / 2;
        if (job->members[middle].about.rank < rank)
            first = middle + 1;
        else
            end = middle;
    }
    if (first < job->count && job->members[first].about.rank == rank) return first;
    if (rank < 0 || (uint64_t)rank >= job->count) return job->count;
    return job->members[rank].about.rank == HD_NO_NUMBER ? (size_t)rank : job->count;
}

static hd_decompressor *take_spare(const hd_job *job)
{
    hd_decompressor *taken = NULL;
    for (int i = 0; i < JOB_SPARES && !taken; i++) taken = atomic_exchange(&job->spares[i], NULL);
    return taken;
}

/* The spare in a place moves to the next; the last one is freed. */
static void put_spare(const hd_job *job, hd_decompressor *spare)
{
    for (int i = 0; i < JOB_SPARES && spare; i++) spare = atomic_exchange(&job->spares[i], spare);
    hd_decompressor_free(spare);
}

/* At least table_count: there is none of that name. */
static uint32_t find_table(const hd_job *job, const char *name)
{
    uint32_t number = 0;
    while (number < job->table_count && strcmp(job->tables[number], name) != 0) number++;
    return number;
}

uint64_t job_table_bytes(const hd_job *job, const char *name)
{
    uint32_t number = find_table(job, name);
    uint64_t bytes = 0;
    for (size_t i = 0; i < job->count; i++)
        if (number < job->members[i].chunk_count) bytes += job->members[i].chunks[number].plain_size;
    return bytes;
}

static hd_status decompress(char *out, const hd_job *job, const uint8_t *data, const job_chunk *chunk, hd_error *err)
{
    hd_decompressor *decompressor = take_spare(job);
    hd_status status = hd_decompress(out, chunk->plain_size, &decompressor, data, chunk->size, err);
    put_spare(job, decompressor);
    return status;
}

void job_error_of(hd_error *err, const hd_job *job, size_t member)
{
    uint32_t file = job->members[member].file;
    if (file != HD_NONE) hd_error_set_path(err, job->files[file].path);
}

hd_status job_packed_table(char **buffer, size_t *capacity, size_t *out_size, const hd_job *job, size_t member,
                           const char *name, hd_error *err)
{
    const job_member *m = &job->members[member];
    uint32_t number = find_table(job, name);
    uint8_t *data;
    *out_size = 0;
    if (number >= m->chunk_count) return HD_OK;
    const job_chunk *chunk = &m->chunks[number];
    if (chunk->is_lost)
        return hd_error_set(err, HD_ERR_DAMAGED, m->file != HD_NONE ? job->files[m->file].path : NULL, HD_OFFSET_NONE,
                            "table %s of rank %lld was damaged when it was combined", name, (long long)m->about.rank);
    if (!chunk->size) return HD_OK;
    if (!hd_reserve(buffer, capacity, chunk->plain_size + 1)) return HD_NOMEM(err);
    HD_TRY(job_chunk_read(&data, job, m, chunk, err));
    hd_status status = decompress(*buffer, job, data, chunk, err);
    if (data != chunk->data) free(data);
    if (status == HD_OK) *out_size = chunk->plain_size;
    if (status == HD_OK && !chunk->plain_size) status = hd_packed_damaged(name, err);
    if (status != HD_OK) job_error_of(err, job, member);
    return status;
}

hd_status hd_job_table(hd_table **out, const hd_job *job, size_t member, const char *name, hd_error *err)
{
    char *packed = NULL;
    size_t capacity = 0, size;
    *out = NULL;
    hd_status status = job_packed_table(&packed, &capacity, &size, job, member, name, err);
    if (status == HD_OK && size) {
        status = hd_table_unpack(out, name, packed, size, err);
        if (status != HD_OK) job_error_of(err, job, member);
    }
    free(packed);
    return status;
}

/* ---- all members ---- */

/* The columns of the first member with the table; others differ only if another version wrote them. */
static hd_status begin_whole(hd_table_builder **out, const hd_table *table, hd_error *err)
{
    HD_TRY(hd_table_builder_new(out, hd_table_name(table), err));
    for (size_t i = 0; i < hd_table_column_count(table); i++) {
        const hd_table_column *column = hd_table_get_column(table, i);
        hd_table_add_column(*out, column->name, column->type);
        hd_table_set_decimals(*out, column->decimals);
    }
    return HD_OK;
}

static hd_status add_rows(hd_table_builder *out, const hd_table *columns, const hd_table *table, hd_error *err)
{
    size_t count = hd_table_column_count(columns);
    size_t *from = malloc((count + 1) * sizeof *from);
    if (!from) return HD_NOMEM(err);
    for (size_t i = 0; i < count; i++) {
        const hd_table_column *column = hd_table_get_column(columns, i);
        from[i] = hd_table_find_column(table, column->name);
        if (from[i] != SIZE_MAX && hd_table_get_column(table, from[i])->type != column->type) from[i] = SIZE_MAX;
    }
    for (size_t row = 0; row < hd_table_row_count(table); row++) {
        for (size_t i = 0; i < count; i++) {
            if (from[i] == SIZE_MAX)
                hd_table_add_null(out);
            else
                hd_table_add_cell(out, table, row, from[i]);
        }
    }
    free(from);
    return HD_OK;
}

hd_status hd_job_whole_table(hd_table **out, const hd_job *job, const char *name,
                             void (*lost)(void *user, const hd_error *why), void *user, hd_error *err)
{
    hd_table_builder *all = NULL;
    hd_table *first = NULL;
    hd_status status = HD_OK;
    *out = NULL;
    for (size_t m = 0; m < job->count && status == HD_OK; m++) {
        hd_table *table;
        hd_error why = {0};
        status = hd_job_table(&table, job, m, name, &why);
        if (status == HD_ERR_MEMORY) {
            status = HD_NOMEM(err);
            break;
        }
        if (status != HD_OK && lost) lost(user, &why);
        status = HD_OK;
        if (!table) continue;
        if (!all) status = begin_whole(&all, table, err);
        if (status == HD_OK) status = add_rows(all, first ? first : table, table, err);
        if (!first)
            first = table;
        else
            hd_table_free(table);
    }
    hd_table_free(first);
    if (status == HD_OK && all) return hd_table_finish(out, all, err);
    hd_table_builder_free(all);
    return status;
}

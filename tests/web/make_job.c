/* make_job.c - a job of many ranks, out of the summary of one
 *
 * usage: make_job ONE.hds RANKS OUT.hds
 *
 * Writes RANKS summaries, each eight on a host and in a group: that of ONE with ranks from 0 on, and durations that
 * vary. Rank RANKS / 3 is slower than all others.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/checksum.h"
#include "base/io/compress.h"
#include "report/job/job.h"
#include "table/pack.h"

static void check(hd_status status, const hd_error *err)
{
    if (status == HD_OK) return;
    fprintf(stderr, "make_job: %s\n", err->message);
    exit(1);
}

/* Up to 3 % more, by rank and row; 20 % for who is slow. */
static int64_t varied(int64_t duration, unsigned rank, unsigned slow, size_t row)
{
    uint64_t noise = (rank * 2654435761u ^ (uint64_t)row * 40503u) >> 7 & 31;
    return duration + duration / 1000 * (int64_t)noise + (rank == slow ? duration / 5 : 0);
}

static hd_table *change(const hd_table *table, unsigned rank, unsigned slow)
{
    hd_error err = {0};
    hd_table *out;
    hd_table_builder *b;
    size_t columns = hd_table_column_count(table);
    char group[32];
    snprintf(group, sizeof group, "%u", rank / 8);
    check(hd_table_builder_new(&b, hd_table_name(table), &err), &err);
    for (size_t c = 0; c < columns; c++) {
        const hd_table_column *column = hd_table_get_column(table, c);
        hd_table_add_column(b, column->name, column->type);
        hd_table_set_decimals(b, column->decimals);
    }
    for (size_t row = 0; row < hd_table_row_count(table); row++) {
        for (size_t c = 0; c < columns; c++) {
            const hd_table_column *column = hd_table_get_column(table, c);
            bool is_end = strcmp(column->name, "end") == 0, is_null = hd_table_is_null(table, row, c);
            if (strcmp(column->name, "rank") == 0)
                hd_table_add_int(b, rank);
            else if (strcmp(column->name, "group") == 0 && !is_null)
                hd_table_add_text(b, group);
            else if (column->type == HD_VALUE_DURATION && !is_null)
                hd_table_add_int(b, varied(hd_table_get_int(table, row, c), rank, slow, row));
            else if (is_end && !is_null)
                hd_table_add_int(b, hd_table_get_int(table, row, c) + (int64_t)(rank * 7919u % 1000) * 100);
            else
                hd_table_add_cell(b, table, row, c);
        }
    }
    check(hd_table_finish(&out, b, &err), &err);
    return out;
}

static void add_rank(hd_job *job, hd_table *const *tables, unsigned rank, unsigned slow, hd_compressor *compressor)
{
    hd_error err = {0};
    char name[64];
    job_member m = {.file = HD_NONE, .about = {.rank = rank, .world_size = HD_NO_NUMBER, .base_ns = HD_NO_TIME}};
    while (hd_job_table_at(m.chunk_count)) m.chunk_count++;
    m.chunks = calloc(m.chunk_count, sizeof *m.chunks);
    snprintf(name, sizeof name, "node%u", rank / 8);
    m.about.host = (hd_string){strdup(name), strlen(name)};
    snprintf(name, sizeof name, "rank%u.json.gz", rank);
    m.about.file = (hd_string){strdup(name), strlen(name)};
    for (uint32_t i = 0; i < m.chunk_count; i++) {
        hd_bytes plain = {0}, packed = {0};
        if (!tables[i]) continue;
        hd_table *table = change(tables[i], rank, slow);
        check(hd_table_pack(&plain, table, &err), &err);
        check(hd_compress(&packed, compressor, plain.data, plain.size, &err), &err);
        m.chunks[i] = (job_chunk){.size = packed.size,
                                  .plain_size = plain.size,
                                  .checksum = hd_checksum(packed.data, packed.size),
                                  .data = packed.data};
        hd_bytes_deinit(&plain);
        hd_table_free(table);
    }
    check(job_add_member(job, &m, &err), &err);
}

int main(int argc, char **argv)
{
    hd_error err = {0};
    hd_job *one, *job;
    hd_compressor *compressor;
    hd_table *tables[64] = {0};
    unsigned ranks = argc == 4 ? (unsigned)strtoul(argv[2], NULL, 10) : 0;
    if (!ranks) {
        fputs("usage: make_job ONE.hds RANKS OUT.hds\n", stderr);
        return 2;
    }
    check(hd_job_new(&one, &err), &err);
    check(hd_job_add_file(one, argv[1], &err), &err);
    check(hd_job_finish(one, &err), &err);
    check(hd_job_new(&job, &err), &err);
    check(hd_compressor_new(&compressor, 3, &err), &err);
    for (size_t i = 0; hd_job_table_at(i); i++)
        check(hd_job_table(&tables[i], one, 0, hd_job_table_at(i)->name, &err), &err);
    for (unsigned rank = 0; rank < ranks; rank++) add_rank(job, tables, rank, ranks / 3, compressor);
    check(hd_job_finish(job, &err), &err);
    check(hd_job_write(job, argv[3], NULL, &err), &err);
    for (size_t i = 0; hd_job_table_at(i); i++) hd_table_free(tables[i]);
    hd_compressor_free(compressor);
    hd_job_free(one);
    hd_job_free(job);
    return 0;
}

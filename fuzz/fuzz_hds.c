/* fuzz_hds.c - libFuzzer target: summaries of a job (.hds)
 *
 * The first byte says what the rest is: 'T', a number, and the bytes of that table, of two members; 'D', two bytes of
 * size, so many of a directory, and chunks; both are packed and sealed here. Anything else is a file as it is.
 *
 * Properties: a table that is read is packed to what reads as the same; a job that is read is written to what reads as
 * the same bytes; its reports come to an end.
 */
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/checksum.h"
#include "base/io/compress.h"
#include "heddle/analysis/job.h"
#include "table/pack.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool holds)
{
    if (!holds) abort();
}

static void pack(hd_bytes *out, const void *data, size_t size)
{
    hd_compressor *compressor;
    require(hd_compressor_new(&compressor, 3, NULL) == HD_OK);
    require(hd_compress(out, compressor, data, size, NULL) == HD_OK);
    hd_compressor_free(compressor);
}

static void seal(hd_bytes *out, const void *directory, size_t directory_size, const void *chunks, size_t size)
{
    hd_bytes_put(out, "HEDDLEHS\1\0\0\0\0\0\0\0", 16);
    hd_bytes_put(out, chunks, size);
    size_t offset = out->size;
    pack(out, directory, directory_size);
    uint64_t checksum = hd_checksum(out->data + offset, out->size - offset), packed = out->size - offset;
    hd_bytes_put_le(out, offset, 8);
    hd_bytes_put_le(out, packed, 8);
    hd_bytes_put_le(out, checksum, 8);
    hd_bytes_put(out, "HSEND\r\n\x1a", 8);
}

static void put_text(hd_bytes *out, const char *text)
{
    hd_bytes_put_varint(out, strlen(text) + 1);
    hd_bytes_put(out, text, strlen(text));
}

static void make_job(hd_bytes *out, const char *table, const uint8_t *data, size_t size)
{
    hd_bytes directory = {0}, chunks = {0};
    pack(&chunks, data, size);
    uint64_t packed = chunks.size;
    hd_bytes_put_varint(&directory, 1);
    put_text(&directory, table);
    hd_bytes_put_varint(&directory, 2);
    for (int rank = 0; rank < 2; rank++) {
        hd_bytes_put_zigzag(&directory, rank);
        hd_bytes_put_zigzag(&directory, 2);
        hd_bytes_put_zigzag(&directory, 0);
        put_text(&directory, rank ? "host" : "other");
        put_text(&directory, "file");
        hd_bytes_put_varint(&directory, packed + 1);
        hd_bytes_put_varint(&directory, size);
        hd_bytes_put_le(&directory, hd_checksum(chunks.data, packed), 8);
    }
    pack(&chunks, data, size);
    seal(out, directory.data, directory.size, chunks.data, chunks.size);
    hd_bytes_deinit(&directory);
    hd_bytes_deinit(&chunks);
}

static void require_packed(const hd_table *table)
{
    hd_bytes once = {0}, twice = {0};
    hd_table *again;
    require(hd_table_pack(&once, table, NULL) == HD_OK);
    require(hd_table_unpack(&again, "table", once.data, once.size, NULL) == HD_OK);
    require(hd_table_pack(&twice, again, NULL) == HD_OK);
    require(once.size == twice.size && memcmp(once.data, twice.data, once.size) == 0);
    hd_table_free(again);
    hd_bytes_deinit(&once);
    hd_bytes_deinit(&twice);
}

/* What a job becomes; NULL: it cannot be read. */
static hd_byte_sink *written(hd_job **out, const void *data, size_t size)
{
    hd_byte_sink *sink = NULL;
    require(hd_job_new(out, NULL) == HD_OK);
    if (hd_job_add_bytes(*out, data, size, NULL) != HD_OK) return NULL;
    require(hd_job_finish(*out, NULL) == HD_OK && hd_byte_sink_new_memory(&sink, NULL, NULL) == HD_OK);
    require(hd_job_write_to(*out, sink, NULL, NULL) == HD_OK);
    return sink;
}

static void require_job(const hd_job *job)
{
    hd_table *table;
    hd_report report;
    for (size_t i = 0; hd_job_table_at(i); i++) {
        for (size_t m = 0; m < hd_job_count(job); m++) {
            if (hd_job_table(&table, job, m, hd_job_table_at(i)->name, NULL) == HD_OK && table) require_packed(table);
            hd_table_free(table);
        }
        require(hd_job_whole_table(&table, job, hd_job_table_at(i)->name, NULL, NULL, NULL) == HD_OK);
        hd_table_free(table);
    }
    for (size_t i = 0; i < hd_report_count(); i++) {
        const hd_report_about *about = hd_report_at(i);
        if (!about->of_job) continue;
        if (hd_report_run(&report, about->name, &(hd_report_input){.job = job}, NULL) == HD_OK) hd_report_free(&report);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    hd_bytes made = {0};
    hd_job *job, *again = NULL;
    size_t tables = 0, directory, bytes, more;
    while (hd_job_table_at(tables)) tables++;
    if (size > 1 << 16) return 0;
    if (size > 2 && data[0] == 'T') {
        make_job(&made, hd_job_table_at(data[1] % tables)->name, data + 2, size - 2);
    } else if (size > 2 && data[0] == 'D') {
        directory = data[1] + 256u * data[2] < size - 3 ? data[1] + 256u * data[2] : size - 3;
        seal(&made, data + 3, directory, data + 3 + directory, size - 3 - directory);
    } else {
        hd_bytes_put(&made, data, size);
    }
    hd_byte_sink *first = written(&job, made.data, made.size), *second = NULL;
    if (first) {
        require_job(job);
        const void *was = hd_byte_sink_get_memory(&bytes, first);
        require((second = written(&again, was, bytes)) != NULL);
        const void *is = hd_byte_sink_get_memory(&more, second);
        require(bytes == more && memcmp(was, is, bytes) == 0);
    }
    hd_byte_sink_free(first);
    hd_byte_sink_free(second);
    hd_job_free(job);
    hd_job_free(again);
    hd_bytes_deinit(&made);
    return 0;
}

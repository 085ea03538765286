/* fuzz_query.c - libFuzzer target: SQL against a small trace
 *
 * Properties: what a text holds of statements is prepared and run without a crash, within its time limit; what is
 * left of the text gets shorter; an error has a text, and its place is in the statement. A query that has failed
 * answers the next one.
 */
#include <stdlib.h>
#include <string.h>

#include "heddle/builder.h"
#include "heddle/query.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { SLICES = 60, ROWS_READ = 300, STATEMENTS = 20, TIMEOUT_MS = 1000 };

static void require(bool holds)
{
    if (!holds) abort();
}

static void add(hd_batch *batch, hd_row row)
{
    require(hd_batch_add(batch, &row, NULL, NULL) == HD_OK);
}

/* Slices that nest on two threads, instants, samples of a counter, a name that is not UTF-8, and one that has a NUL. */
static hd_trace *make_trace(void)
{
    static const char *const names[] = {"gemm", "ProfilerStep#3",
                                        ("a\xff"
                                         "b"),
                                        "a\0b", ""};
    static const size_t sizes[] = {4, 14, 3, 3, 0};
    hd_builder *builder;
    hd_batch *batch;
    hd_chunk *chunk;
    hd_trace *trace;
    require(hd_builder_new(&builder, NULL) == HD_OK && hd_batch_new(&batch, builder, NULL) == HD_OK);
    for (int64_t i = 0; i < SLICES; i++) {
        hd_row row = hd_row_of(HD_KIND_SLICE, 'X');
        row.track = hd_builder_thread(builder, 1, 1 + i % 2);
        row.name = hd_builder_intern(builder, names[i % 5], sizes[i % 5]);
        row.category = hd_builder_intern_text(builder, i % 3 ? "cpu_op" : "kernel");
        row.start_ns = i / 4 * 100 + i % 4;
        row.duration_ns = i == 7 ? HD_NO_TIME : 100 - 10 * (i % 4);
        add(batch, row);
    }
    for (int64_t i = 0; i < SLICES / 4; i++) {
        hd_row row = hd_row_of(HD_KIND_INSTANT, 'i');
        row.track = hd_builder_thread(builder, 1, 1);
        row.name = hd_builder_intern_text(builder, "mark");
        row.start_ns = i * 300;
        add(batch, row);
    }
    require(hd_batch_take(&chunk, batch, NULL) == HD_OK && hd_builder_append(builder, chunk, NULL) == HD_OK);
    hd_batch_free(batch);
    require(hd_builder_finish(&trace, builder, NULL) == HD_OK);
    return trace;
}

static hd_status read_rows(hd_statement *statement, hd_error *err)
{
    hd_status status = HD_OK;
    volatile unsigned char sum = 0; /* of all bytes, so that each is looked at */
    for (size_t row = 0; row < ROWS_READ && (status = hd_statement_next(statement, err)) == HD_OK; row++)
        for (size_t i = 0; i < hd_statement_column_count(statement); i++) {
            hd_query_value value = hd_statement_at(statement, i);
            require(hd_statement_column_name(statement, i) != NULL);
            (void)hd_statement_column_role(statement, i);
            for (size_t k = 0; k < value.size; k++) sum = (unsigned char)(sum + (unsigned char)value.data[k]);
        }
    return status;
}

static void run_all(hd_query *query, const char *sql, size_t size)
{
    const char *end = sql + size, *rest;
    for (int i = 0; i < STATEMENTS && sql < end; i++, sql = rest) {
        hd_statement *statement;
        hd_error err = {0};
        hd_status status = hd_query_prepare(&statement, &rest, query, sql, (size_t)(end - sql), &err);
        require(rest <= end && (status != HD_OK || !statement || rest > sql));
        bool is_run = status == HD_OK && statement;
        if (is_run) status = read_rows(statement, &err);
        hd_statement_free(statement);
        require(status == HD_OK || status == HD_END || (err.status == status && err.message[0]));
        require(is_run || status == HD_OK || err.offset == HD_OFFSET_NONE || err.offset <= (uint64_t)(end - sql));
        if (!is_run) break;
    }
}

static void require_answer(hd_query *query)
{
    hd_statement *statement;
    require(hd_query_prepare(&statement, NULL, query, "select 42", SIZE_MAX, NULL) == HD_OK);
    require(hd_statement_next(statement, NULL) == HD_OK);
    require(hd_statement_at(statement, 0).integer == 42);
    hd_statement_free(statement);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static hd_trace *trace; /* never changes */
    const hd_query_options options = {.size = sizeof options, .timeout_ms = TIMEOUT_MS};
    hd_query *query = NULL;
    if (size > 1 << 12) return 0;
    if (!trace) trace = make_trace();
    const hd_query_input input = {.trace = trace, .rank = HD_NO_NUMBER};
    char *text = malloc(size + 1);
    require(text && hd_query_new(&query, &input, 1, &options, NULL) == HD_OK);
    memcpy(text, data, size);
    text[size] = '\0';
    (void)hd_query_is_complete(text);
    run_all(query, (const char *)data, size);
    require_answer(query);
    hd_query_free(query);
    free(text);
    return 0;
}

/* test_changed.c - files that somebody cuts or writes over while they are read: an error, and no end of the process */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/capture_wire.h"
#include "base/checksum.h"
#include "base/io/pieces.h"
#include "heddle/builder.h"
#include "trace/lazy.h"
#include "view/route/route.h"
#include "view/session/session.h"
#include "view/sql/sql.h"

#define NO_STATE void **state __attribute__((unused))

enum { BLOCKS = 4, ROWS = 20000, CHUNKS = 400, CHUNK_EVENTS = 1000 };

static char path[] = "/tmp/heddle-changed-XXXXXX";

/* ---- files ---- */

/* Slices and marks in blocks of their own. */
static void write_trace(const char *format)
{
    hd_builder *builder;
    hd_batch *batch;
    hd_chunk *chunk;
    hd_trace *trace;
    const hd_write_options options = {.format = format};
    assert_int_equal(hd_builder_new(&builder, NULL), HD_OK);
    assert_int_equal(hd_batch_new(&batch, builder, NULL), HD_OK);
    for (unsigned i = 0; i < BLOCKS * ROWS; i++) {
        hd_row row = hd_row_of(HD_KIND_SLICE, 'X');
        row.track = hd_builder_thread(builder, 1, 2);
        row.name = hd_builder_intern_text(builder, i % 3 ? "mark" : "work");
        row.start_ns = (int64_t)i * 1000 + (int64_t)(i * 2654435761u >> 23);
        row.duration_ns = 100;
        assert_int_equal(hd_batch_add(batch, &row, NULL, NULL), HD_OK);
        if ((i + 1) % ROWS) continue;
        assert_int_equal(hd_batch_take(&chunk, batch, NULL), HD_OK);
        assert_int_equal(hd_builder_append(builder, chunk, NULL), HD_OK);
    }
    hd_batch_free(batch);
    assert_int_equal(hd_builder_finish(&trace, builder, NULL), HD_OK);
    assert_int_equal(hd_trace_write(trace, path, &options, NULL), HD_OK);
    hd_trace_free(trace);
}

static void put_chunk(hd_bytes *b, unsigned type, unsigned thread, unsigned number, const hd_bytes *payload)
{
    size_t start = b->size;
    hd_bytes_put_le(b, CAPTURE_CHUNK_MAGIC, 8);
    hd_bytes_put_le(b, type, 2);
    hd_bytes_put_le(b, 0, 2);
    hd_bytes_put_le(b, payload->size, 4);
    hd_bytes_put_le(b, thread, 4);
    hd_bytes_put_le(b, number, 4);
    hd_bytes_put_le(b, hd_checksum(payload->data, payload->size), 8);
    hd_bytes_put_le(b, hd_checksum(b->data + start, 32), 8);
    hd_bytes_put(b, payload->data, payload->size);
}

static void write_capture(void)
{
    hd_bytes b = {0}, payload = {0};
    hd_bytes_put(&b, CAPTURE_MAGIC, CAPTURE_MAGIC_BYTES);
    hd_bytes_put_le(&b, CAPTURE_MAJOR, 2);
    hd_bytes_put_le(&b, 0, 2);
    hd_bytes_put_le(&b, 4242, 4);
    while (b.size < 56) hd_bytes_put_u8(&b, 0);
    hd_bytes_put_le(&b, hd_checksum(b.data, 56), 8);
    for (unsigned i = 0; i < CHUNKS; i++) {
        payload.size = 0;
        hd_bytes_put_varint(&payload, (uint64_t)i * CHUNK_EVENTS);
        hd_bytes_put_varint(&payload, CHUNK_EVENTS);
        hd_bytes_put_varint(&payload, 0);
        hd_bytes_put_varint(&payload, 0);
        hd_bytes_put_varint(&payload, 1u << CAPTURE_INSTANT);
        hd_bytes_put(&payload, "\x24\x00\x00", 3); /* an instant with category and name, then such as it is */
        for (unsigned e = 1; e < CHUNK_EVENTS; e++) hd_bytes_put(&payload, "\x34\x02", 2);
        put_chunk(&b, CAPTURE_EVENTS, 1, i, &payload);
    }
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(b.data, 1, b.size, file), b.size);
    assert_int_equal(fclose(file), 0);
    hd_bytes_deinit(&b);
    hd_bytes_deinit(&payload);
}

static void cut(void)
{
    assert_int_equal(truncate(path, 100), 0);
}

/* As `cp other PATH` does, where the other is as long. */
static void write_over(void)
{
    struct stat about;
    assert_int_equal(stat(path, &about), 0);
    int fd = open(path, O_WRONLY | O_TRUNC);
    assert_true(fd >= 0);
    char *text = malloc((size_t)about.st_size);
    assert_non_null(text);
    memset(text, 'x', (size_t)about.st_size);
    assert_int_equal(write(fd, text, (size_t)about.st_size), about.st_size);
    free(text);
    close(fd);
}

static void assert_changed(hd_status status, const hd_error *err)
{
    assert_int_equal(status, HD_ERR_IO);
    assert_non_null(strstr(err->message, "the file changed"));
}

/* ---- tests ---- */

static void test_changed__a_piece_that_is_gone_is_an_error(NO_STATE)
{
    hd_input *input;
    hd_pieces pieces;
    uint8_t bytes[64];
    hd_error err = {0};
    write_trace("heddle");
    assert_int_equal(hd_input_open(&input, path, NULL, NULL), HD_OK);
    assert_int_equal(hd_pieces_open(&pieces, input, NULL), HD_OK);
    hd_input_close(input);
    assert_int_equal(hd_pieces_unchanged(&pieces, NULL), HD_OK);
    assert_int_equal(hd_pieces_read(&pieces, bytes, pieces.size - 64, 64, NULL), HD_OK);
    cut();
    assert_changed(hd_pieces_read(&pieces, bytes, pieces.size - 64, 64, &err), &err);
    assert_int_equal(hd_pieces_read(&pieces, bytes, 36, 64, NULL), HD_OK);
    assert_changed(hd_pieces_read(&pieces, bytes, 37, 64, &err), &err);
    assert_changed(hd_pieces_unchanged(&pieces, &err), &err);
    hd_pieces_close(&pieces);
}

/* At the end of a result, and where it is not read to its end. */
static void assert_sql_tells(view_session *session)
{
    static const char *const queries[] = {"select 1 as x", "select sum(dur) from slice"};
    for (int i = 0; i < 2; i++) {
        view_sql_run run;
        hd_error err = {0};
        hd_status status = view_sql_begin(&run, session, queries[i], strlen(queries[i]), 60000, NULL, &err);
        if (status == HD_OK) status = view_sql_next(&run, &err);
        if (status == HD_OK) assert_changed(view_sql_check(&run, NULL), &(hd_error){.message = "the file changed"});
        while (status == HD_OK) status = view_sql_next(&run, &err);
        if (status != HD_ERR_UNSUPPORTED) assert_changed(status, &err); /* a build without SQLite */
        view_sql_end(&run);
    }
}

/* The scene and the session tell it, and so does every question from then on. */
static void assert_view_tells(hd_trace *trace)
{
    view_session *session;
    view_scene *scene, *got;
    uint32_t id;
    hd_error err = {0};
    view_reply reply = {0};
    const view_param params[] = {{"trace", "0"}};
    assert_int_equal(view_session_new(&session, NULL, NULL), HD_OK);
    assert_int_equal(view_scene_new(&scene, trace, NULL), HD_OK);
    assert_int_equal(view_session_add_scene(&id, session, scene, "store", NULL), HD_OK);
    const view_request request = {.session = session, .params = params, .param_count = 1};
    assert_changed(view_param_scene(&got, &reply, &request, &err), &err);
    view_session_write(&reply.json, session);
    hd_json_put(&reply.json, "", 1);
    assert_non_null(strstr(reply.json.data, "\"error\":\""));
    assert_non_null(strstr(reply.json.data, "the file changed"));
    view_reply_deinit(&reply);
    assert_sql_tells(session);
    view_session_free(session);
}

static void check_store(void (*change)(void))
{
    hd_trace *trace;
    hd_error err = {0};
    const hd_read_options lazy = {.lazy = true};
    write_trace("heddle");
    assert_int_equal(hd_trace_read(&trace, path, &lazy, NULL), HD_OK);
    assert_true(hd_trace_block_count(trace, HD_KIND_SLICE) >= 2);
    hd_event event;
    hd_block_event(&event, hd_trace_block_at(trace, HD_KIND_SLICE, 0), 0);
    assert_int_equal(event.start_ns, 0);
    assert_int_equal(hd_trace_input_status(trace, &err), HD_OK);
    change();
    size_t last = hd_trace_block_count(trace, HD_KIND_SLICE) - 1;
    hd_block_event(&event, hd_trace_block_at(trace, HD_KIND_SLICE, last), 0);
    assert_int_equal(event.start_ns, HD_NO_TIME);
    assert_changed(hd_trace_input_status(trace, &err), &err);
    assert_view_tells(trace);
}

static void test_changed__a_store_that_is_cut_is_told(NO_STATE)
{
    check_store(cut);
}

static void test_changed__a_store_that_is_written_over_is_told(NO_STATE)
{
    check_store(write_over);
}

static void flip(void)
{
    struct stat about;
    uint8_t byte;
    assert_int_equal(stat(path, &about), 0);
    int fd = open(path, O_RDWR);
    assert_int_equal(pread(fd, &byte, 1, about.st_size / 2), 1);
    byte ^= 1;
    assert_int_equal(pwrite(fd, &byte, 1, about.st_size / 2), 1);
    close(fd);
}

static view_scene *wait_until(view_session *session, uint32_t id, view_trace_state state)
{
    view_scene *scene;
    while (view_session_scene(&scene, session, id) != state) usleep(1000);
    return scene;
}

/* One of its blocks cannot be read: what the others hold is shown, as a trace of its own. */
static void test_changed__what_is_left_of_a_damaged_store_is_shown(NO_STATE)
{
    view_session *session;
    uint32_t id;
    write_trace("heddle");
    flip();
    assert_int_equal(view_session_new(&session, NULL, NULL), HD_OK);
    assert_int_equal(view_session_add(&id, session, path, NULL), HD_OK);
    wait_until(session, 0, VIEW_FAILED);
    const hd_trace *left = view_scene_trace(wait_until(session, 1, VIEW_READY));
    uint64_t count = hd_trace_row_count(left, HD_KIND_SLICE), lost = 0;
    for (size_t i = 0; i < hd_trace_ledger_count(left); i++) lost += hd_trace_ledger_at(left, i)->count;
    assert_true(count && lost);
    assert_int_equal(count + lost, BLOCKS * ROWS);
    view_session_free(session);
}

typedef struct changer {
    void (*change)(void);
    bool done;
} changer;

static void change_once(void *user, uint64_t done, uint64_t total)
{
    changer *c = user;
    (void)done, (void)total;
    if (!c->done) c->change();
    c->done = true;
}

static void test_changed__a_capture_that_changes_is_an_error(NO_STATE)
{
    void (*const changes[])(void) = {cut, write_over};
    for (int i = 0; i < 2; i++) {
        changer c = {.change = changes[i]};
        hd_trace *trace = NULL;
        hd_error err = {0};
        const hd_read_options options = {.progress = change_once, .progress_user = &c};
        write_capture();
        assert_int_equal(hd_trace_read(&trace, path, NULL, NULL), HD_OK);
        assert_int_equal(hd_trace_event_count(trace), CHUNKS * CHUNK_EVENTS);
        hd_trace_free(trace);
        assert_changed(hd_trace_read(&trace, path, &options, &err), &err);
        assert_true(c.done);
        assert_string_equal(err.path, path);
    }
}

/* It is read from a copy. */
static void test_changed__sbt_that_is_cut_is_read_as_it_was(NO_STATE)
{
    changer c = {.change = cut};
    hd_trace *trace = NULL;
    const hd_read_options options = {.progress = change_once, .progress_user = &c};
    write_trace("sbt");
    assert_int_equal(hd_trace_read(&trace, path, &options, NULL), HD_OK);
    assert_true(c.done);
    assert_int_equal(hd_trace_event_count(trace), BLOCKS * ROWS);
    hd_trace_free(trace);
}

static int make_file(void **state)
{
    (void)state;
    int fd = mkstemp(path);
    return fd < 0 ? 1 : close(fd);
}

static int remove_file(void **state)
{
    (void)state;
    return unlink(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_changed__a_piece_that_is_gone_is_an_error),
        cmocka_unit_test(test_changed__a_store_that_is_cut_is_told),
        cmocka_unit_test(test_changed__a_store_that_is_written_over_is_told),
        cmocka_unit_test(test_changed__what_is_left_of_a_damaged_store_is_shown),
        cmocka_unit_test(test_changed__a_capture_that_changes_is_an_error),
        cmocka_unit_test(test_changed__sbt_that_is_cut_is_read_as_it_was),
    };
    return cmocka_run_group_tests(tests, make_file, remove_file);
}

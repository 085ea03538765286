/* test_session_memory.c - what a session emits of memory is what hd_memory_new finds */
#include "capture/session_support.h"

#include "heddle/analysis/memory.h"

static void test_session_memory__categories_devices_and_frees_of_unknown_size(void **state)
{
    char path[128], name[HD_MEMORY_NAME_BYTES];
    (void)state;
    hd_session *session = start_session(file_named(path, "memory.hdcap"), NULL);
    uint32_t weights = hd_session_intern(session, "weights"), step = hd_session_intern(session, "step");
    hd_session_begin(session, step, 0);
    hd_session_allocate(session, weights, 0x1000, 4096, 3);
    hd_session_allocate(session, weights, 0x2000, 100, 3);
    hd_session_end(session);
    hd_session_release(session, 0, 0x1000, 0, 3); /* 0: not known */
    hd_session_allocate(session, 0, UINT64_MAX, 50, HD_SESSION_HOST);
    hd_session_release(session, 0, 0x1000, 0, HD_SESSION_HOST); /* the address of another device */
    assert_int_equal(hd_session_stop(NULL, session, NULL), HD_OK);
    hd_session_free(session);

    hd_trace *trace = read_capture(path);
    hd_memory *memory;
    assert_int_equal(hd_memory_new(&memory, trace, NULL, NULL), HD_OK);
    assert_int_equal(memory->found, 5);
    assert_int_equal(memory->pool_count, 2);
    const hd_memory_pool *gpu = &memory->pools[0], *host = &memory->pools[1];
    assert_string_equal(hd_memory_pool_name(name, trace, gpu), "cuda:3");
    assert_string_equal(hd_memory_pool_name(name, trace, host), "cpu");
    assert_int_equal(gpu->allocated_bytes, 4196);
    assert_int_equal(gpu->freed_bytes, 4096);
    assert_int_equal(gpu->live_bytes, 100);
    assert_int_equal(gpu->peak_bytes, 4196);
    assert_int_equal(host->live_bytes, 50);
    assert_int_equal(memory->anomalies[HD_MEMORY_FREE_UNKNOWN], 1);
    assert_true(text_is(trace, memory->groups[memory->events[0].group].category, "weights"));
    hd_frame frame = hd_stacks_at(memory->stacks, memory->events[1].node);
    hd_string text = hd_stacks_text(memory->stacks, frame.name);
    assert_int_equal(text.size, 4);
    assert_memory_equal(text.data, "step", 4);
    hd_memory_free(memory);
    hd_trace_free(trace);
    assert_int_equal(unlink(path), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_session_memory__categories_devices_and_frees_of_unknown_size),
    };
    return cmocka_run_group_tests_name("session_memory", tests, make_folder, remove_folder);
}

/* From a session's stacks to names: what a program emits, the reader makes of it, and the files say. */
#include "symbolize/symbolize_text.h"

#include <dlfcn.h>
#include <link.h>
#include <unistd.h>

#include "heddle/session.h"
#include "symbolize/sample.h"

typedef struct library {
    void *handle;
    const sample_place *places;
    int count;
    uint64_t bias;
} library;

static library load(void)
{
    library lib = {.handle = dlopen(SAMPLE_PATH, RTLD_NOW)};
    struct link_map *map;
    int (*list)(const sample_place **);
    if (!lib.handle) fail_msg("%s", dlerror());
    *(void **)&list = dlsym(lib.handle, "sample_list");
    assert_non_null(list);
    lib.count = list(&lib.places);
    assert_int_equal(dlinfo(lib.handle, RTLD_DI_LINKMAP, &map), 0);
    lib.bias = map->l_addr;
    return lib;
}

static void emit(hd_session *session, const uint64_t *frames, uint32_t count)
{
    hd_session_emit(session, &(hd_session_record){.kind = HD_SESSION_SAMPLE,
                                                  .time_ns = hd_session_now(),
                                                  .name = hd_session_intern(session, "taken"),
                                                  .stack = hd_session_stack(session, frames, count)});
}

/* The library is known, another of its name as well, and anonymous memory with a function of a JIT compiler. */
static void emit_all(hd_session *session, const library *lib)
{
    hd_session_module(session,
                      &(hd_session_module_info){
                          .start = lib->bias, .end = lib->bias + 0x100000, .bias = lib->bias, .path = SAMPLE_PATH});
    hd_session_module(
        session, &(hd_session_module_info){.start = 0x1000, .end = 0x2000, .path = "/none/libsymbolize_sample.so"});
    hd_session_module(session, &(hd_session_module_info){.start = 0x10000, .end = 0x20000, .path = "//anon"});
    hd_session_symbol(session, 0x10100, 0x100, "compiled");
    uint64_t python = HD_SESSION_FRAME(hd_session_intern(session, "train (/home/me/train.py:12)"));
    for (int i = 0; i < lib->count; i++) {
        const uint64_t frames[] = {(uintptr_t)lib->places[i].address - 1, 0x10123, python};
        emit(session, frames, 3);
    }
    emit(session, (const uint64_t[]){0x1010, 0x10800}, 2);
}

static void test_symbolize_session__stacks_of_a_session_get_names(NO_STATE)
{
    library lib = load();
    char path[64], wanted[2048] = "";
    hd_session *session;
    hd_trace *trace;
    hd_error err = {0};
    snprintf(path, sizeof path, "/tmp/heddle-named-%ld.hdcap", (long)getpid());
    if (hd_session_start(&session, path, NULL, &err) != HD_OK) fail_msg("%s", err.message);
    emit_all(session, &lib);
    hd_session_stop(NULL, session, NULL);
    hd_session_free(session);
    if (hd_trace_read(&trace, path, NULL, &err) != HD_OK) fail_msg("%s", err.message);
    hd_symbolize_report *report;
    hd_trace *out = named(trace, &report, NULL);
    for (int i = 0; i < lib.count; i++)
        snprintf(wanted + strlen(wanted), sizeof wanted - strlen(wanted), "%s",
                 lib.places[i].lines[0]
                     ? "train (/home/me/train.py:12);compiled;sample_outer;sample_middle;sample_inner | "
                     : "train (/home/me/train.py:12);compiled;sample_outer | ");
    strcat(wanted, "anon+0x10800;/none/libsymbolize_sample.so+0x1010");
    assert_string_equal(stacks_text(out, HD_KIND_SAMPLE), wanted);
    assert_int_equal(ledger_count(out, "symbolize.module-ambiguous"), 0);
    hd_symbolize_report_free(report);
    hd_trace_free(out);
    dlclose(lib.handle);
    unlink(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_symbolize_session__stacks_of_a_session_get_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

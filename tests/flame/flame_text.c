/* flame_text.c - flames of traces from text, and their files as text, for tests */
#include "flame/flame_text.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

#include "fixtures.h"
#include "model/contexts/contexts.h"
#include "read_text.h"

hd_trace *trace_of_text(const char *text)
{
    hd_trace *trace = NULL;
    hd_error err = {0};
    if (read_text(&trace, text, strlen(text), NULL, 0, &err) != HD_OK) fail_msg("%s", err.message);
    return trace;
}

/* ---- attribution ---- */

static hd_status take(void *user, const hd_context *contexts, size_t count, hd_error *err)
{
    hd_attribution *a = user;
    (void)err;
    for (size_t i = 0; i < count; i++) {
        for (size_t j = 0; j < a->launches->launch_count; j++) {
            if (a->launches->launches[j].row == contexts[i].row) a->launch_stack[j] = contexts[i].node;
        }
    }
    return HD_OK;
}

void attribute_by_calls(hd_attribution **out, const hd_trace *trace)
{
    const hd_context_options options = {0};
    hd_attribution *a = *out = calloc(1, sizeof *a);
    assert_non_null(a);
    assert_int_equal(hd_launches_new(&a->launches, trace, NULL), HD_OK);
    assert_int_equal(hd_stacks_new(&a->stacks, NULL), HD_OK);
    a->launch_stack = calloc(a->launches->launch_count + 1, sizeof *a->launch_stack);
    a->work_stack = calloc(a->launches->work_count + 1, sizeof *a->work_stack);
    assert_non_null(a->launch_stack);
    assert_non_null(a->work_stack);
    assert_int_equal(hd_contexts_walk(a->stacks, trace, &options, take, a, NULL), HD_OK);
    for (size_t i = 0; i < a->launches->work_count; i++) {
        uint32_t launch = a->launches->works[i].launch;
        if (launch != HD_NONE) a->work_stack[i] = a->launch_stack[launch];
    }
}

void attribution_done(hd_attribution *attribution)
{
    hd_launches_free(attribution->launches);
    hd_stacks_free(attribution->stacks);
    free(attribution->launch_stack);
    free(attribution->work_stack);
    free(attribution->pending);
    free(attribution);
}

/* ---- files ---- */

hd_flame *flame_new(void)
{
    hd_flame *flame;
    assert_int_equal(hd_flame_new(&flame, NULL), HD_OK);
    return flame;
}

/* One file for all of them, as making thousands takes longer than all else: outputs are written to it in place. */
char *flame_file(const hd_flame *flame, const hd_flame_write_options *options, hd_flame_written *out, size_t *out_size)
{
    static FILE *file;
    char path[32];
    hd_error err = {0};
    if (!file) file = tmpfile();
    assert_non_null(file);
    assert_int_equal(ftruncate(fileno(file), 0), 0);
    assert_int_equal(lseek(fileno(file), 0, SEEK_SET), 0);
    snprintf(path, sizeof path, "/dev/fd/%d", fileno(file));
    if (hd_flame_write(out, flame, path, options, &err) != HD_OK) fail_msg("%s", err.message);
    off_t size = lseek(fileno(file), 0, SEEK_END);
    assert_true(size >= 0);
    char *text = calloc((size_t)size + 1, 1);
    assert_non_null(text);
    assert_int_equal(pread(fileno(file), text, (size_t)size, 0), size);
    if (out_size) *out_size = (size_t)size;
    if (out) assert_int_equal(out->bytes, size);
    return text;
}

char *flame_folded(const hd_flame *flame)
{
    const hd_flame_write_options options = {.format = HD_FLAME_FOLDED};
    return flame_file(flame, &options, NULL, NULL);
}

int64_t folded_sum(const char *text, size_t size, size_t *out_lines)
{
    int64_t sum = 0;
    size_t lines = 0, last_size = 0;
    const char *last = NULL, *end = text + size;
    for (const char *at = text; at < end; lines++) {
        const char *stop = memchr(at, '\n', (size_t)(end - at)), *space = stop;
        assert_non_null(stop);
        while (space > at && *space != ' ') space--;
        assert_true(space > at && space + 1 < stop);
        for (const char *digit = space + 1; digit < stop; digit++) assert_true(*digit >= '0' && *digit <= '9');
        for (const char *byte = at; byte < stop; byte++) assert_true((unsigned char)*byte >= 0x20 && *byte != 0x7f);
        if (__builtin_add_overflow(sum, strtoll(space + 1, NULL, 10), &sum)) sum = INT64_MAX;
        size_t line_size = (size_t)(stop - at), shorter = line_size < last_size ? line_size : last_size;
        int order = last ? memcmp(last, at, shorter) : -1;
        if (order > 0 || (order == 0 && last_size >= line_size))
            fail_msg("not sorted: %.*s / %.*s", (int)last_size, last, (int)line_size, at);
        last = at;
        last_size = line_size;
        at = stop + 1;
    }
    if (out_lines) *out_lines = lines;
    return sum;
}

char *speedscope_checked(const char *text, size_t size)
{
    static const char script[] = "import json,sys\n"
                                 "d=json.load(open(sys.argv[1],encoding='utf-8'))\n"
                                 "p=d['profiles'][0]\n"
                                 "n=len(d['shared']['frames'])\n"
                                 "assert d['$schema'].endswith('file-format-schema.json')\n"
                                 "assert p['type']=='sampled' and p['startValue']==0\n"
                                 "assert p['unit'] in ('nanoseconds','bytes','none')\n"
                                 "assert len(p['samples'])==len(p['weights'])\n"
                                 "assert all(s and all(0<=f<n for f in s) for s in p['samples'])\n"
                                 "assert all(isinstance(f['name'],str) for f in d['shared']['frames'])\n"
                                 "assert sum(p['weights'])==p['endValue']\n"
                                 "print('ok',sum(p['weights']))\n";
    char data[] = "/tmp/heddle-scope-XXXXXX", code[] = "/tmp/heddle-check-XXXXXX", command[160], answer[64] = "";
    if (system("python3 -c '' 2>/dev/null") != 0) return NULL;
    int files[2] = {mkstemp(data), mkstemp(code)};
    assert_true(files[0] >= 0 && files[1] >= 0);
    assert_int_equal(write(files[0], text, size), (ssize_t)size);
    assert_int_equal(write(files[1], script, sizeof script - 1), (ssize_t)(sizeof script - 1));
    snprintf(command, sizeof command, "python3 %s %s", code, data);
    FILE *pipe = popen(command, "r");
    assert_non_null(pipe);
    if (!fgets(answer, sizeof answer, pipe)) answer[0] = '\0';
    pclose(pipe);
    for (int i = 0; i < 2; i++) close(files[i]);
    unlink(data);
    unlink(code);
    return strdup(answer);
}

/* test_derive_scene.c - derived tracks of a small trace, every slice of which is written down here */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>

#include "base/json/write.h"
#include "read_text.h"
#include "view/scene/scene.h"

/* ---- traces ---- */

static void add_event(hd_json_out *out, const char *category, const char *name, const char *place, int start,
                      int length, const char *args)
{
    char text[600];
    snprintf(text, sizeof text, "%s{\"ph\":\"X\",\"cat\":\"%s\",\"name\":\"%s\",%s,\"ts\":%d,\"dur\":%d,\"args\":{%s}}",
             out->size ? ",\n" : "[", category, name, place, start, length, args);
    hd_json_put_text(out, text);
}

#define MAIN "\"pid\":100,\"tid\":100"
#define BACKWARD "\"pid\":100,\"tid\":101"
#define STREAM7 "\"pid\":0,\"tid\":7"
#define STREAM20 "\"pid\":0,\"tid\":20"
#define ON7(id) "\"device\":0,\"stream\":7,\"correlation\":" #id
#define ON20(id) "\"device\":0,\"stream\":20,\"correlation\":" #id

static void add_cpu(hd_json_out *out)
{
    add_event(out, "user_annotation", "ProfilerStep#1", MAIN, 0, 100, "");
    add_event(out, "user_annotation", "forward", MAIN, 5, 80, "");
    add_event(out, "python_function", "nn.Module: Linear_0", MAIN, 8, 34, "");
    add_event(out, "python_function", "model.py(12): forward", MAIN, 9, 32, "");
    add_event(out, "cpu_op", "aten::linear", MAIN, 10, 30, "");
    add_event(out, "cpu_op", "aten::mm", MAIN, 12, 20, "");
    add_event(out, "cuda_runtime", "cudaLaunchKernel", MAIN, 15, 2, "\"correlation\":1");
    add_event(out, "cuda_runtime", "cudaLaunchKernel", MAIN, 20, 2, "\"correlation\":2");
    add_event(out, "cpu_op", "aten::add", MAIN, 45, 5, "");
    add_event(out, "cuda_runtime", "cudaLaunchKernel", MAIN, 47, 2, "\"correlation\":3");
    add_event(out, "cpu_op", "aten::add", MAIN, 51, 4, "");
    add_event(out, "cuda_runtime", "cudaLaunchKernel", MAIN, 52, 2, "\"correlation\":6");
    add_event(out, "cpu_op", "c10d::allreduce_", BACKWARD, 58, 10, "");
    add_event(out, "cuda_runtime", "cudaLaunchKernel", BACKWARD, 60, 2, "\"correlation\":4");
    add_event(out, "user_annotation", "ProfilerStep#2", MAIN, 100, 100, "");
    add_event(out, "cuda_runtime", "cudaMemcpyAsync", MAIN, 120, 2, "\"correlation\":5");
}

static void add_gpu(hd_json_out *out)
{
    add_event(out, "kernel", "gemm", STREAM7, 30, 10, ON7(1));
    add_event(out, "kernel", "splitk", STREAM7, 42, 8, ON7(2));
    add_event(out, "kernel", "add", STREAM7, 60, 5, ON7(3));
    add_event(out, "kernel", "add", STREAM7, 65, 5, ON7(6));
    add_event(out, "kernel", "ncclDevKernel_AllReduce_Sum_f32_RING_LL", STREAM20, 65, 20, ON20(4));
    add_event(out, "gpu_memcpy", "Memcpy HtoD", STREAM7, 130, 10, ON7(5));
}

static view_scene *scene_of(hd_json_out *text)
{
    hd_trace *trace;
    view_scene *scene;
    atomic_bool stop = false;
    hd_json_put_text(text, "]");
    assert_int_equal(read_text(&trace, text->data, text->size, NULL, 0, NULL), HD_OK);
    free(text->data);
    assert_int_equal(view_scene_new(&scene, trace, NULL), HD_OK);
    assert_int_equal(view_scene_work(scene, &stop, NULL, NULL, NULL), HD_OK);
    return scene;
}

static view_scene *training(void)
{
    hd_json_out text = {0};
    add_cpu(&text);
    add_gpu(&text);
    return scene_of(&text);
}

/* ---- what is looked at ---- */

/* The n-th track of a role in the order in which they are shown, NULL: there are fewer. */
static const view_track *track_of(const view_scene *scene, const char *role, int n)
{
    const view_order *order;
    const view_track *found = NULL;
    assert_int_equal(view_scene_order(&order, scene, NULL), HD_OK);
    for (uint32_t i = 0; i < order->count && !found; i++) {
        const view_track *track = view_scene_track(scene, order->ids[i]);
        if (strcmp(track->role, role) == 0 && track->derived && n-- == 0) found = track;
    }
    view_scene_order_done(order, scene);
    return found;
}

/* Rows as text, in µs: "gemm 30-40, splitk 42-50 | …". */
static const char *rows_text(char out[1000], const view_scene *scene, const view_track *track)
{
    size_t size = 0;
    out[0] = '\0';
    if (!track) return "no track";
    for (uint32_t r = 0; r < track->rows.count; r++) {
        const view_row *row = &track->rows.rows[r];
        for (uint64_t i = 0; i < row->count && size < 900; i++) {
            view_slice slice;
            assert_int_equal(view_row_read(&slice, row, view_scene_trace(scene), i, 1), 1);
            hd_string name = view_scene_text(scene, slice.name);
            const char *before = i ? ", " : r ? " | " : "";
            size += (size_t)snprintf(out + size, 1000 - size, "%s%.*s %d-%d", before, (int)name.size, name.data,
                                     (int)(slice.start_ns / 1000), (int)(slice.end_ns / 1000));
        }
    }
    return out;
}

static void assert_rows(const view_scene *scene, const char *role, int n, const char *expected)
{
    char text[1000];
    assert_string_equal(rows_text(text, scene, track_of(scene, role, n)), expected);
}

/* ---- tests ---- */

static void test_derive__sorts_of_work_and_idle_time_of_a_device(void **state)
{
    (void)state;
    view_scene *scene = training();
    assert_rows(scene, "compute", 0, "gemm 30-40, splitk 42-50, add 60-65, add 65-70");
    assert_rows(scene, "communication", 0, "ncclDevKernel_AllReduce_Sum_f32_RING_LL 65-85");
    assert_rows(scene, "exposed", 0, "ncclDevKernel_AllReduce_Sum_f32_RING_LL 70-85");
    assert_rows(scene, "copy", 0, "Memcpy HtoD 130-140");
    assert_rows(scene, "idle", 0, "idle: device 40-42, idle: device 50-60, idle: host 85-130");
    assert_int_equal(track_of(scene, "idle", 0)->busy_ns, 57000);
    assert_int_equal(track_of(scene, "compute", 0)->busy_ns, 28000);
    assert_null(track_of(scene, "compute", 1));
    view_scene_free(scene);
}

static void test_derive__steps_stand_on_the_cpu_and_on_the_device(void **state)
{
    (void)state;
    view_scene *scene = training();
    assert_rows(scene, "steps", 0, "ProfilerStep#1 0-100, ProfilerStep#2 100-200");
    assert_rows(scene, "steps", 1, "ProfilerStep#1 30-85, ProfilerStep#2 130-140");
    view_scene_free(scene);
}

static void test_derive__the_profilers_own_steps_on_the_device_come_first(void **state)
{
    hd_json_out text = {0};
    (void)state;
    add_cpu(&text);
    add_gpu(&text);
    add_event(&text, "gpu_user_annotation", "ProfilerStep#1", STREAM7, 29, 60, "\"device\":0,\"stream\":7");
    view_scene *scene = scene_of(&text);
    assert_rows(scene, "steps", 1, "ProfilerStep#1 29-89");
    view_scene_free(scene);
}

static void test_derive__the_section_of_a_device_is_as_busy_as_its_work(void **state)
{
    hd_json_out text = {0};
    const view_row *summary;
    (void)state;
    add_cpu(&text);
    add_gpu(&text);
    add_event(&text, "gpu_user_annotation", "ProfilerStep#1", STREAM7, 29, 60, "\"device\":0,\"stream\":7");
    view_scene *scene = scene_of(&text);
    uint32_t section = track_of(scene, "compute", 0)->parent;
    assert_string_equal(view_scene_track(scene, section)->role, "device");
    assert_int_equal(view_scene_summary(&summary, scene, section, NULL), HD_OK);
    assert_non_null(summary);
    int64_t start = view_scene_start(scene);
    assert_int_equal(view_row_busy(summary, view_scene_trace(scene), start, start + 200000), 53000);
    view_scene_free(scene);
}

static const view_track *stream_of(const view_scene *scene, int64_t stream)
{
    for (uint32_t i = 0; i < view_scene_track_count(scene); i++) {
        const view_track *track = view_scene_track(scene, i);
        if (strcmp(track->role, "stream") == 0 && track->stream == stream && !track->derived) return track;
    }
    fail_msg("no stream %d", (int)stream);
    return NULL;
}

static void test_derive__a_stream_is_as_busy_as_its_work(void **state)
{
    hd_json_out text = {0};
    (void)state;
    add_gpu(&text);
    add_event(&text, "gpu_user_annotation", "ProfilerStep#1", STREAM7, 29, 60, "\"device\":0,\"stream\":7");
    add_event(&text, "cuda_sync", "Stream Wait Event", STREAM7, 100, 20, "\"device\":0,\"stream\":7");
    add_event(&text, "kernel", "beside", STREAM7, 35, 10, ON7(9)); /* overlaps gemm and splitk */
    view_scene *scene = scene_of(&text);
    const view_track *stream = stream_of(scene, 7);
    view_slice slice;
    int64_t start = view_scene_start(scene);
    assert_int_equal(stream->event_count, 8);
    assert_int_equal(stream->busy_ns, 40000); /* 30-50, 60-70, 130-140 */
    assert_int_equal(view_row_busy(&stream->summary, view_scene_trace(scene), start, start + 200000), 40000);
    assert_int_equal(stream->summary.count, 4);
    assert_int_equal(view_row_read(&slice, &stream->summary, view_scene_trace(scene), 0, 1), 1);
    assert_int_equal(slice.end_ns - slice.start_ns, 20000);
    assert_non_null(strstr(stream->detail, "annotations"));
    assert_null(stream_of(scene, 20)->detail);
    assert_int_equal(stream_of(scene, 20)->busy_ns, 20000);
    view_scene_free(scene);
}

static void test_derive__a_stream_of_annotations_alone_shows_them(void **state)
{
    hd_json_out text = {0};
    (void)state;
    add_gpu(&text);
    add_event(&text, "gpu_user_annotation", "step", "\"pid\":0,\"tid\":9", 29, 60, "\"device\":0,\"stream\":9");
    view_scene *scene = scene_of(&text);
    assert_int_equal(stream_of(scene, 9)->busy_ns, 0);
    assert_int_equal(stream_of(scene, 9)->summary.count, 1);
    view_scene_free(scene);
}

static void test_derive__ops_and_scopes_are_projected_stream_by_stream(void **state)
{
    (void)state;
    view_scene *scene = training();
    /* Two calls of aten::add are two slices, the works of one call of aten::mm are one. */
    assert_rows(scene, "ops", 0, "aten::linear 30-50, aten::add 60-65, aten::add 65-70 | aten::mm 30-50");
    assert_rows(scene, "ops", 1, "c10d::allreduce_ 65-85");
    assert_rows(scene, "scopes", 0, "forward 30-70 | nn.Module: Linear_0 30-50");
    assert_null(track_of(scene, "scopes", 1));
    view_scene_free(scene);
}

static void test_derive__works_of_one_op_that_another_interrupts_are_two_slices(void **state)
{
    hd_json_out text = {0};
    (void)state;
    add_event(&text, "cpu_op", "outer", MAIN, 0, 50, "");
    add_event(&text, "cuda_runtime", "cudaLaunchKernel", MAIN, 1, 1, "\"correlation\":1");
    add_event(&text, "cpu_op", "inner", MAIN, 3, 10, "");
    add_event(&text, "cuda_runtime", "cudaLaunchKernel", MAIN, 4, 1, "\"correlation\":2");
    add_event(&text, "cuda_runtime", "cudaLaunchKernel", MAIN, 20, 1, "\"correlation\":3");
    add_event(&text, "cpu_op", "other", BACKWARD, 3, 10, "");
    add_event(&text, "cuda_runtime", "cudaLaunchKernel", BACKWARD, 4, 1, "\"correlation\":4");
    add_event(&text, "kernel", "a", STREAM7, 100, 10, ON7(1));
    add_event(&text, "kernel", "b", STREAM7, 115, 10, ON7(2));
    add_event(&text, "kernel", "c", STREAM7, 120, 20, ON7(4)); /* overlaps b */
    add_event(&text, "kernel", "d", STREAM7, 150, 10, ON7(3));
    view_scene *scene = scene_of(&text);
    assert_rows(scene, "ops", 0, "outer 100-125, outer 150-160 | inner 115-125 | other 120-140");
    assert_int_equal(track_of(scene, "ops", 0)->on_lanes, 1);
    assert_rows(scene, "compute", 0, "a 100-110, b 115-125, c 125-140, d 150-160");
    view_scene_free(scene);
}

/* As XLA writes them: an op's name is a path, with its type behind a colon. */
static void test_derive__scopes_ops_and_sources_that_the_work_says_itself(void **state)
{
    hd_json_out text = {0};
    (void)state;
    add_event(&text, "kernel", "a", STREAM7, 100, 10,
              ON7(1) ",\"tf_op\":\"jit(f)/jit(main)/add:Add\",\"source\":\"t.py:1\"");
    add_event(&text, "kernel", "b", STREAM7, 110, 10,
              ON7(2) ",\"tf_op\":\"jit(f)/jit(main)/add:Add\",\"source\":\"t.py:1\"");
    add_event(&text, "kernel", "c", STREAM7, 122, 8,
              ON7(3) ",\"tf_op\":\"jit(f)/jit(main)/mul:\",\"source\":\"t.py:2\"");
    add_event(&text, "kernel", "d", STREAM7, 150, 10, ON7(4) ",\"tf_op\":\"jit(f)/jit(main)/mul:\"");
    add_event(&text, "kernel", "e", STREAM7, 161, 4, ON7(5));
    add_event(&text, "kernel", "f", STREAM7, 166, 4, ON7(6) ",\"tf_op\":\"alone\"");
    view_scene *scene = scene_of(&text);
    assert_rows(scene, "scopes", 0, "jit(f) 100-130, jit(f) 150-160 | jit(main) 100-130, jit(main) 150-160");
    assert_rows(scene, "ops", 0,
                "jit(f)/jit(main)/add 100-120, jit(f)/jit(main)/mul 122-130, jit(f)/jit(main)/mul 150-160, "
                "alone 166-170");
    assert_rows(scene, "source", 0, "t.py:1 100-120, t.py:2 122-130");
    view_scene_free(scene);
}

/* Rows that only tell of a device ("XLA Modules") are no reason for a section of its own. */
static void test_derive__rows_of_xla_stand_in_the_section_of_their_device(void **state)
{
    hd_json_out text = {0};
    (void)state;
    hd_json_put_text(&text,
                     "[{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":1,\"args\":{\"name\":\"/device:TPU:0\"}},"
                     "{\"ph\":\"M\",\"name\":\"process_labels\",\"pid\":1,\"args\":{\"labels\":\"host1\"}},"
                     "{\"ph\":\"M\",\"name\":\"thread_name\",\"pid\":1,\"tid\":2,\"args\":{\"name\":\"XLA Modules\"}},"
                     "{\"ph\":\"M\",\"name\":\"thread_name\",\"pid\":1,\"tid\":3,\"args\":{\"name\":\"XLA Ops\"}}");
    add_event(&text, "", "jit_f", "\"pid\":1,\"tid\":2", 0, 50, "");
    add_event(&text, "kernel", "fusion", "\"pid\":1,\"tid\":3", 10, 20, "\"device\":0,\"stream\":3");
    view_scene *scene = scene_of(&text);
    const view_track *section = view_scene_track(scene, track_of(scene, "compute", 0)->parent);
    assert_string_equal(section->role, "device");
    assert_int_equal(section->parent, HD_NONE);
    assert_string_equal(section->name, "/device:TPU:0 \xc2\xb7 host1");
    for (uint32_t i = 0; i < view_scene_track_count(scene); i++) {
        const view_track *track = view_scene_track(scene, i);
        if (track != section) assert_int_equal(track->parent, section->id);
    }
    view_scene_free(scene);
}

static void test_derive__latency_is_from_launch_to_start(void **state)
{
    /* Of the two works that start at once one is shown. */
    static const double expected[] = {15000, 22000, 13000, 5000, 10000};
    enum { SHOWN = sizeof expected / sizeof *expected };
    (void)state;
    view_scene *scene = training();
    const view_track *track = track_of(scene, "launch", 0);
    assert_non_null(track);
    assert_int_equal(track->series_count, 1);
    double sum = 0;
    size_t waits = 0, count = track->series->count;
    for (size_t i = 0; i < count; i++) {
        sum += track->series->values[i];
        waits += track->series->values[i] > 0;
        if (i) assert_true(track->series->times_ns[i - 1] < track->series->times_ns[i]);
    }
    assert_int_equal(waits, SHOWN);
    double least = 0;
    for (size_t i = 0; i < SHOWN; i++) least += expected[i];
    assert_true(sum == least);
    assert_true(track->series->min == 0 && track->series->max == 22000);
    /* Once nothing waits the queue is empty. */
    assert_true(track->series->values[count - 1] == 0);
    assert_non_null(strstr(track->detail, "6 launches: mean 13 \xc2\xb5s, least 5 \xc2\xb5s, most 22 \xc2\xb5s"));
    view_scene_free(scene);
}

static void add_memory(hd_json_out *out, int time, int type, int device, int bytes, const char *totals)
{
    char text[400];
    snprintf(text, sizeof text,
             "%s{\"ph\":\"i\",\"cat\":\"cpu_instant_event\",\"s\":\"t\",\"name\":\"[memory]\"," MAIN ",\"ts\":%d,"
             "\"args\":{\"Device Type\":%d,\"Device Id\":%d,\"Bytes\":%d%s}}",
             out->size ? ",\n" : "[", time, type, device, bytes, totals);
    hd_json_put_text(out, text);
}

static void test_derive__memory_is_the_allocators_total_or_the_sum_of_changes(void **state)
{
    hd_json_out text = {0};
    (void)state;
    add_cpu(&text);
    add_gpu(&text);
    add_memory(&text, 20, 1, 0, 512, ",\"Total Allocated\":1512,\"Total Reserved\":4096");
    add_memory(&text, 10, 1, 0, 500, ",\"Total Allocated\":1000,\"Total Reserved\":4096");
    add_memory(&text, 30, 1, 0, -500, ",\"Total Allocated\":1012,\"Total Reserved\":4096");
    add_memory(&text, 11, 0, -1, 64, "");
    add_memory(&text, 12, 0, -1, -100, "");
    view_scene *scene = scene_of(&text);
    const view_track *gpu = NULL, *cpu = NULL, *compute = track_of(scene, "compute", 0);
    for (int i = 0; track_of(scene, "memory", i); i++) {
        const view_track *track = track_of(scene, "memory", i);
        if (track->device == 0)
            gpu = track;
        else
            cpu = track;
    }
    assert_non_null(gpu);
    assert_non_null(cpu);
    assert_int_equal(gpu->parent, compute->parent);
    assert_int_equal(gpu->series_count, 2);
    assert_int_equal(gpu->series[0].count, 3);
    assert_true(gpu->series[0].values[0] == 1000 && gpu->series[0].values[1] == 1512);
    assert_true(gpu->series[0].values[2] == 1012 && gpu->series[1].max == 4096);
    assert_int_equal(cpu->series_count, 1);
    assert_true(cpu->series[0].values[0] == 64 && cpu->series[0].values[1] == -36 && cpu->series[0].min == -36);
    view_scene_free(scene);
}

static void test_derive__every_derived_track_says_what_it_shows(void **state)
{
    (void)state;
    view_scene *scene = training();
    int derived = 0;
    for (uint32_t i = 0; i < view_scene_track_count(scene); i++) {
        const view_track *track = view_scene_track(scene, i);
        if (!track->derived || track->kind == VIEW_SECTION) continue;
        derived++;
        assert_non_null(track->detail);
        assert_true(strlen(track->detail) > 20);
        assert_true(atomic_load((_Atomic(int) *)&track->ready));
    }
    assert_int_equal(derived, 13);
    view_scene_free(scene);
}

static void test_derive__two_devices_of_one_process_have_sections_of_their_own(void **state)
{
    hd_json_out text = {0};
    (void)state;
    add_event(&text, "kernel", "a", "\"pid\":5,\"tid\":7", 10, 5, "\"device\":0,\"stream\":7,\"correlation\":1");
    add_event(&text, "kernel", "b", "\"pid\":5,\"tid\":8", 12, 5, "\"device\":1,\"stream\":8,\"correlation\":2");
    view_scene *scene = scene_of(&text);
    assert_rows(scene, "compute", 0, "a 10-15");
    assert_rows(scene, "compute", 1, "b 12-17");
    const view_track *first = track_of(scene, "compute", 0), *second = track_of(scene, "compute", 1);
    assert_int_not_equal(first->parent, second->parent);
    assert_int_equal(view_scene_track(scene, first->parent)->device, 0);
    assert_int_equal(view_scene_track(scene, second->parent)->device, 1);
    assert_null(track_of(scene, "idle", 0));
    view_scene_free(scene);
}

static void test_derive__a_trace_without_gpu_work_has_no_derived_tracks(void **state)
{
    hd_json_out text = {0};
    (void)state;
    add_event(&text, "cpu_op", "aten::mm", MAIN, 0, 50, "");
    add_event(&text, "user_annotation", "ProfilerStep#1", MAIN, 0, 100, "");
    view_scene *scene = scene_of(&text);
    for (uint32_t i = 0; i < view_scene_track_count(scene); i++) assert_false(view_scene_track(scene, i)->derived);
    view_scene_free(scene);
}

static void test_derive__the_critical_path_has_classes_and_below_what_runs(void **state)
{
    hd_json_out text = {0};
    (void)state;
    add_event(&text, "cpu_op", "op", MAIN, 0, 10, "");
    add_event(&text, "cuda_runtime", "cudaLaunchKernel", MAIN, 2, 2, "\"correlation\":1");
    add_event(&text, "cuda_runtime", "cudaDeviceSynchronize", MAIN, 12, 48, "\"correlation\":2");
    add_event(&text, "kernel", "gemm", STREAM7, 10, 40, ON7(1));
    add_event(&text, "gpu_memcpy", "hidden", STREAM20, 20, 5, ON20(1));
    view_scene *scene = scene_of(&text);
    assert_rows(scene, "critical_path", 0,
                "cpu 0-4, launch 4-10, compute 10-50, sync 50-60 | "
                "op 0-2, cudaLaunchKernel 2-4, gemm 4-10, gemm 10-50, cudaDeviceSynchronize 50-60");
    assert_null(track_of(scene, "critical_path", 1));
    assert_int_equal(track_of(scene, "critical_path", 0)->busy_ns, 60000);
    view_scene_free(scene);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_derive__sorts_of_work_and_idle_time_of_a_device),
        cmocka_unit_test(test_derive__steps_stand_on_the_cpu_and_on_the_device),
        cmocka_unit_test(test_derive__the_profilers_own_steps_on_the_device_come_first),
        cmocka_unit_test(test_derive__the_section_of_a_device_is_as_busy_as_its_work),
        cmocka_unit_test(test_derive__a_stream_is_as_busy_as_its_work),
        cmocka_unit_test(test_derive__a_stream_of_annotations_alone_shows_them),
        cmocka_unit_test(test_derive__ops_and_scopes_are_projected_stream_by_stream),
        cmocka_unit_test(test_derive__works_of_one_op_that_another_interrupts_are_two_slices),
        cmocka_unit_test(test_derive__scopes_ops_and_sources_that_the_work_says_itself),
        cmocka_unit_test(test_derive__rows_of_xla_stand_in_the_section_of_their_device),
        cmocka_unit_test(test_derive__latency_is_from_launch_to_start),
        cmocka_unit_test(test_derive__memory_is_the_allocators_total_or_the_sum_of_changes),
        cmocka_unit_test(test_derive__every_derived_track_says_what_it_shows),
        cmocka_unit_test(test_derive__two_devices_of_one_process_have_sections_of_their_own),
        cmocka_unit_test(test_derive__a_trace_without_gpu_work_has_no_derived_tracks),
        cmocka_unit_test(test_derive__the_critical_path_has_classes_and_below_what_runs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

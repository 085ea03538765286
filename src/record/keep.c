/* keep.c - what processes have kept of their last events, as a trace, while they run (keep_last_ns)
 *
 * A snapshot is a folder with copies of the captures. The trace is made from it as from the folder that a killed
 * recording left.
 */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/error.h"
#include "record/impl.h"

enum { NUMBERS = 100000 };

/* Before the extension, which may have two parts: OUT.json.gz. */
char *record_numbered(const char *output, unsigned number)
{
    char *name;
    const char *slash = strrchr(output, '/'), *file = slash ? slash + 1 : output, *dot = strrchr(file, '.');
    if (!dot || dot == file) dot = file + strlen(file);
    bool is_packed = strcmp(dot, ".gz") == 0 || strcmp(dot, ".zst") == 0;
    for (const char *p = dot - 1; is_packed && p > file; p--) {
        if (*p != '.') continue;
        dot = p;
        break;
    }
    return asprintf(&name, "%.*s.%u%s", (int)(dot - output), output, number, dot) < 0 ? NULL : name;
}

/* The next number whose folder is not there. */
static char *make_folder(const recording *r, unsigned *number)
{
    while (++*number < NUMBERS) {
        char *folder, *output = record_numbered(r->result->output, *number);
        bool fine = output && asprintf(&folder, "%s.parts", output) >= 0;
        free(output);
        if (!fine) return NULL;
        if (mkdir(folder, 0700) == 0) return folder;
        int why = errno;
        if (why != EEXIST) record_say(r, "cannot make %s: %s", folder, strerror(why));
        free(folder);
        if (why != EEXIST) return NULL;
    }
    return NULL;
}

static size_t copy_all(const recording *r, const record_list *list, const char *folder)
{
    hd_error err = {0};
    char text[HD_ERROR_TEXT_BYTES];
    size_t copied = 0;
    for (size_t i = 0; i < list->full; i++) {
        const char *slash = strrchr(list->parts[i].path, '/');
        char *to;
        if (asprintf(&to, "%s%s", folder, slash) < 0) continue;
        bool fine = hd_session_snapshot(list->parts[i].path, to, &err) == HD_OK;
        if (!fine) record_say(r, "is not written out: %s", hd_error_text(text, sizeof text, &err));
        if (!fine) unlink(to);
        copied += fine;
        free(to);
    }
    return copied;
}

size_t record_remove_old(const recording *r)
{
    record_list list = {0};
    hd_error ignored = {0};
    size_t removed = 0;
    int64_t ended_s, oldest_s = time(NULL) - (r->options->keep_last_ns + 999999999) / 1000000000;
    if (record_list_read(&list, r->result->parts, &ignored) != HD_OK) list.full = 0;
    for (size_t i = 0; i < list.full; i++) {
        const char *path = list.parts[i].path;
        if (hd_session_has_ended(&ended_s, path) && ended_s < oldest_s && hd_session_join(path, &ignored) == HD_OK)
            removed += unlink(path) == 0;
    }
    record_list_deinit(&list);
    return removed;
}

char *record_snapshot(const recording *r, unsigned *number)
{
    record_list list = {0};
    hd_error err = {0};
    char *folder = make_folder(r, number);
    if (!folder) return NULL;
    size_t copied = record_list_read(&list, r->result->parts, &err) == HD_OK ? copy_all(r, &list, folder) : 0;
    record_list_deinit(&list);
    if (copied) return folder;
    record_say(r, "no process has recorded anything yet, so nothing was written out");
    record_parts_remove(folder);
    free(folder);
    return NULL;
}

void record_write_out(const recording *r, const char *folder, unsigned number, hd_session_message why)
{
    static const char *const reasons[] = {[HD_SESSION_MEMORY] = "request",
                                          [HD_SESSION_TRIGGERED] = "heddle trigger",
                                          [HD_SESSION_SIGNALLED] = "SIGUSR2",
                                          [HD_SESSION_STALLED] =
                                              "a stall: nothing was recorded for the time of --on-stall"};
    hd_record_options options = *r->options;
    hd_record_result *result = NULL;
    hd_error err = {0};
    char text[HD_ERROR_TEXT_BYTES], *output = record_numbered(r->result->output, number);
    options.output = output;
    options.progress = NULL;
    hd_status status = output ? hd_record_recover(&result, folder, &options, &err) : HD_ERR_MEMORY;
    if (status != HD_OK)
        record_say(r, "%s was not written: %s", output ? output : "a trace", hd_error_text(text, sizeof text, &err));
    else if (result->written)
        record_say(r, "wrote %s: %llu events of %zu process%s (%s)", output, (unsigned long long)result->events,
                   result->processes, result->processes == 1 ? "" : "es", reasons[why]);
    hd_record_result_free(result);
    free(output);
}

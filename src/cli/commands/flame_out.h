/* flame_out.h - shared by commands that write flame graphs: the output and its messages */
#ifndef HD_CLI_COMMANDS_FLAME_OUT_H
#define HD_CLI_COMMANDS_FLAME_OUT_H

#include "cli/printer.h"
#include "heddle/analysis/flame.h"
#include "heddle/report.h"

typedef struct flame_out {
    const char *path;
    bool is_trace;           /* else a flame graph */
    hd_flame_format format;  /* of the flame graph */
    const char *format_name; /* "svg", "folded", "speedscope", or the trace's format */
    const char *title;
    double min_percent;
    bool sync;
} flame_out;

enum { FLAME_OUT_MIN_PERCENT_DEFAULT = 5 /* hundredths */ };

/* From -o (NULL: standard output, which must be no terminal) and --to (NULL: by the extension). Returns an exit status.
 */
int flame_out_choose(cli_run *run, flame_out *out, const char *path, const char *to, bool traces_too);

hd_status flame_out_write(hd_flame_written *written, cli_run *run, const flame_out *out, const hd_flame *flame,
                          const hd_flame *base);

/* "wrote flame.svg: GPU time 1.234s in 12,345 stacks …", unless quiet. */
void flame_out_say(cli_printer *printer, const flame_out *out, const hd_flame *flame, const hd_flame_written *written);
/* "trace.json has no GPU work": one of several files that the graph has nothing of. */
void flame_out_say_nothing(cli_printer *printer, const char *path, hd_flame_of of);
/* Whether an input was repaired, or lost something, while it was read. */
void flame_out_say_damage(cli_run *run, const char *path, const hd_trace *trace);
/* Members of a JSON object, without the braces. */
void flame_out_say_json(cli_printer *printer, const flame_out *out, const hd_flame *flame,
                        const hd_flame_written *written);

#endif

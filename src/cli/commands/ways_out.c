/* ways_out.c - which ways to capture work here */
#include "cli/commands/ways_out.h"

hd_status ways_table(hd_table **out, const hd_devices *devices, hd_error *err)
{
    hd_table_builder *b;
    hd_status status = hd_table_builder_new(&b, "ways", err);
    if (status != HD_OK) return status;
    static const char *const names[] = {"way", "works", "summary", "why", "advice"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) hd_table_add_column(b, names[i], HD_VALUE_STRING);
    for (size_t i = 0; i < devices->way_count; i++) {
        const hd_way *way = &devices->ways[i];
        hd_table_add_text(b, way->name);
        hd_table_add_text(b, hd_way_state_name(way->state));
        hd_table_add_text(b, way->summary);
        hd_table_add_text(b, way->why);
        if (way->advice[0])
            hd_table_add_text(b, way->advice);
        else
            hd_table_add_null(b);
    }
    return hd_table_finish(out, b, err);
}

void ways_print(cli_run *run, const hd_devices *devices)
{
    static const cli_look looks[] = {CLI_RED, CLI_YELLOW, CLI_GREEN};
    for (size_t i = 0; i < devices->way_count; i++) {
        const hd_way *way = &devices->ways[i];
        cli_print(run, "  %-11s %s%-6s%s  %s\n", way->name, cli_style(run, looks[way->state]),
                  hd_way_state_name(way->state), cli_style(run, CLI_PLAIN), way->summary);
        cli_print(run, "  %-11s         %s\n", "", way->why);
        if (way->advice[0]) cli_print(run, "  %-11s         %s\n", "", way->advice);
    }
}

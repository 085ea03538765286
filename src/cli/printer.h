/* printer.h - reports of commands whose result may go to standard output */
#ifndef HD_CLI_PRINTER_H
#define HD_CLI_PRINTER_H

#include "cli/cli.h"
#include "heddle/table.h"

/* The report goes to standard error when the trace goes to standard output. */
typedef struct cli_printer {
    cli_run *run;
    bool to_stderr;
} cli_printer;

/* A sink: `user` is the cli_printer. */
hd_status cli_printer_write(void *user, const char *data, size_t size);
void cli_say(cli_printer *printer, const char *format, ...) HD_PRINTF(2, 3);
/* Names come from the input: any length, and control characters do not reach the terminal. */
void cli_say_name(cli_printer *printer, const char *name);
/* `"key": "text"`, escaped. */
void cli_say_text_json(cli_printer *printer, const char *key, const char *text);
/* Member `key` in JSON: the table's rows. `status`: the result of making the table; the table is freed. */
hd_status cli_say_table_json(cli_printer *printer, const char *key, hd_status status, hd_table **table);

#endif
